-- Takes back the condemnation of each node that is needed: by a root, by a record ($1), or by a node that is not condemned.
WITH RECURSIVE roots AS (
{roots}
), reached(hash) AS (
  SELECT hash FROM (SELECT hash FROM roots UNION ALL SELECT hash FROM {schema}.nodes WHERE condemned_at IS NULL) AS start
{needs}
), innocent AS (
  SELECT hash FROM {schema}.nodes
  WHERE condemned_at IS NOT NULL AND EXISTS (SELECT FROM reached WHERE reached.hash = nodes.hash)
  ORDER BY hash FOR UPDATE OF nodes
), reprieved AS (
  UPDATE {schema}.nodes SET condemned_at = NULL FROM innocent WHERE nodes.hash = innocent.hash
  RETURNING nodes.hash
)
SELECT count(*) AS reprieved FROM reprieved
