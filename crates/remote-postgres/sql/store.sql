-- Stores nodes. None is stored if a needed node is missing, or if a different node is there under one of the hashes. If another call
-- stores a different node meanwhile, the others are stored, and the answer is `clash`.
-- $6 are the references of each node, as the text of an array. $7 are the needed nodes that are not among these.
WITH client AS MATERIALIZED (
  SELECT {old} AS is_old
), given AS (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::text[])
    AS given(hash, type, payload, digest, stamp, refs)
), lacking AS MATERIALIZED (
  SELECT hash FROM unnest($7::bigint[]) AS needed(hash)
  WHERE NOT EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = needed.hash AND condemned_at IS NULL)
), clashing AS MATERIALIZED (
  SELECT given.hash FROM given JOIN {schema}.nodes ON nodes.hash = given.hash WHERE nodes.digest <> given.digest
), stored AS (
  INSERT INTO {schema}.nodes (hash, type, payload, digest, stamp, refs)
  SELECT hash, type, payload, digest, stamp, refs::bigint[] FROM given
  WHERE NOT EXISTS (SELECT FROM lacking) AND NOT EXISTS (SELECT FROM clashing)
    AND NOT (SELECT is_old FROM client)
  ORDER BY hash
  ON CONFLICT (hash) DO UPDATE SET condemned_at = NULL WHERE nodes.digest = excluded.digest
  RETURNING hash
), fit AS MATERIALIZED (
  SELECT CASE
    WHEN (SELECT is_old FROM client) THEN 'old'
    WHEN EXISTS (SELECT FROM lacking) THEN 'lacking'
    -- The row of a different node that another call has stored since this statement began is not returned.
    WHEN (SELECT count(*) FROM stored) < cardinality($1) THEN 'clash'
    ELSE 'stored'
  END AS what
)
