-- The nodes that can be reached from the nodes $1, without the nodes $2 that the caller has. Payloads come only if there are at
-- most $3 nodes.
WITH RECURSIVE reached(hash) AS (
  SELECT hash FROM unnest($1) AS root(hash) WHERE NOT hash = ANY($2)
{needs}
)
SELECT node.* FROM reached CROSS JOIN LATERAL (
  SELECT hash, type, CASE WHEN (SELECT count(*) FROM reached) <= $3 THEN payload END AS payload, digest, stamp, refs
  FROM {schema}.nodes WHERE nodes.hash = reached.hash LIMIT 1
) AS node
