-- What a remote keeps, version {version}. {schema} is the schema of the database that it lives in.
-- Hashes are 64-bit numbers. Times are those of the server.

CREATE SCHEMA IF NOT EXISTS {schema};

-- What the remote is. One row.
CREATE TABLE {schema}.remote (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version int NOT NULL,
  least_client int NOT NULL,
  store_id text NOT NULL
);

-- The nodes. The content of a node never changes. What it needs is here, too. With `refs`, the server walks without reading a
-- payload. `digest` is the BLAKE3 hash of type and payload. A node that the collector has condemned counts as missing until it is
-- stored again.
CREATE TABLE {schema}.nodes (
  hash bigint PRIMARY KEY,
  type bigint NOT NULL,
  payload bytea NOT NULL,
  digest bytea NOT NULL,
  stamp bigint NOT NULL,
  refs bigint[] NOT NULL,
  condemned_at timestamptz
);
CREATE INDEX nodes_condemned ON {schema}.nodes (condemned_at) WHERE condemned_at IS NOT NULL;

-- The threads. `fence` is the number of the last lease. The limits of a thread depend on its `records`, which clients merge.
-- `roots` are the nodes that the records name, as far as they were there when the records were stored.
CREATE TABLE {schema}.threads (
  id text COLLATE "C" PRIMARY KEY,
  workflow bigint NOT NULL,
  head bigint NOT NULL,
  status text NOT NULL,
  label text,
  version bigint NOT NULL DEFAULT 0,
  fence bigint NOT NULL DEFAULT 0,
  lease_owner text,
  lease_until timestamptz,
  ready_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  records bytea[] NOT NULL,
  roots bigint[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 70);
CREATE INDEX threads_next ON {schema}.threads (ready_at, id) WHERE status = 'ready';
CREATE INDEX threads_status ON {schema}.threads (status, id);
CREATE INDEX threads_leased ON {schema}.threads (lease_owner) WHERE lease_owner IS NOT NULL;

-- The moves of heads. `version` is the number of the move in its thread.
CREATE TABLE {schema}.history (
  thread text COLLATE "C" NOT NULL,
  from_head bigint NOT NULL,
  to_head bigint NOT NULL,
  version bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (thread, from_head, to_head, version)
);

{names_table}
INSERT INTO {schema}.remote (version, least_client, store_id) VALUES ({version}, 1, gen_random_uuid()::text);
