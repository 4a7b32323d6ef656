-- Removes at most $3 nodes that were condemned at least $2 milliseconds before $1.
WITH doomed AS (
  SELECT hash FROM {schema}.nodes WHERE condemned_at <= $1::text::timestamptz - $2 * interval '1 millisecond'
  ORDER BY condemned_at LIMIT $3 FOR UPDATE SKIP LOCKED
), removed AS (
  DELETE FROM {schema}.nodes USING doomed WHERE nodes.hash = doomed.hash RETURNING nodes.hash
)
SELECT count(*) AS removed FROM removed
