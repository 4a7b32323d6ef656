-- Lets the name $1 stand for the node $2, if the name has the version $3 or is not there.
WITH given AS MATERIALIZED (
  SELECT {old} AS is_old, EXISTS (SELECT FROM {schema}.nodes WHERE hash = $2 AND condemned_at IS NULL) AS is_there
), named AS (
  INSERT INTO {schema}.names AS known (name, hash, version)
  SELECT $1, $2, 1 FROM given WHERE is_there AND NOT is_old
  ON CONFLICT (name) DO UPDATE
    SET hash = excluded.hash, version = known.version + 1, earlier = array_append(known.earlier, known.hash)
    WHERE known.version = $3
  RETURNING name
)
SELECT is_old, is_there, EXISTS (SELECT FROM named) AS named FROM given
