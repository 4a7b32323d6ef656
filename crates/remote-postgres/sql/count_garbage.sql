-- Counts what a collection would do that removes the nodes that were condemned at least $1 milliseconds ago. $2 are the nodes that
-- records name.
WITH RECURSIVE roots AS (
{roots}
), reached(hash) AS (
  SELECT hash FROM roots
{needs}
), judged AS (
  SELECT condemned_at, EXISTS (SELECT FROM reached WHERE reached.hash = nodes.hash) AS is_needed FROM {schema}.nodes
)
SELECT count(*) FILTER (WHERE condemned_at IS NULL AND NOT is_needed) AS condemned,
  count(*) FILTER (WHERE condemned_at IS NOT NULL AND is_needed) AS reprieved,
  count(*) FILTER (WHERE condemned_at <= clock_timestamp() - $1 * interval '1 millisecond' AND NOT is_needed) AS removed
FROM judged
