-- The names of workflows. `version` is the number of the last change. `earlier` is what the name stood for before,
-- oldest first.
CREATE TABLE IF NOT EXISTS {schema}.names (
  name text COLLATE "C" PRIMARY KEY,
  hash bigint NOT NULL,
  version bigint NOT NULL,
  earlier bigint[] NOT NULL DEFAULT '{}'
);
