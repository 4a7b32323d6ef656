-- Condemns each node that nothing needs. $1 are the nodes that records name. A locked node is skipped: a statement is storing it.
WITH RECURSIVE roots AS (
{roots}
), reached(hash) AS (
  SELECT hash FROM roots
{needs}
), garbage AS (
  SELECT hash FROM {schema}.nodes
  WHERE condemned_at IS NULL AND NOT EXISTS (SELECT FROM reached WHERE reached.hash = nodes.hash)
  ORDER BY hash FOR UPDATE OF nodes SKIP LOCKED
), condemned AS (
  UPDATE {schema}.nodes SET condemned_at = clock_timestamp() FROM garbage WHERE nodes.hash = garbage.hash
  RETURNING nodes.hash
)
SELECT count(*) AS condemned FROM condemned
