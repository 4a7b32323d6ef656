-- Takes a lease. Returns a row with the thread, and a row for each node of its head that the owner lacks. The owner has the
-- nodes $4 with all that these need. At most $5 + 1 nodes come: one more than $5 tells that there are more. `is_new` tells whether
-- the owner did not have the lease before: the statement sees the table with the old fence.
WITH RECURSIVE {lease}, reached(hash) AS (
  SELECT head FROM leased WHERE $5 > 0 AND NOT head = ANY({have})
{needs}
), lacked AS (
  SELECT hash FROM reached LIMIT $5 + 1
)
SELECT id, fence, head, status, records, (SELECT store_id FROM {schema}.remote) AS store,
  NOT EXISTS (SELECT FROM {schema}.threads AS before WHERE before.id = leased.id AND before.fence = leased.fence) AS is_new,
  NULL::bigint AS hash, NULL::bigint AS type, NULL::bytea AS payload, NULL::bytea AS digest,
  NULL::bigint AS stamp, NULL::bigint[] AS refs
FROM leased
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, node.* FROM lacked CROSS JOIN LATERAL (
  SELECT hash, type, payload, digest, stamp, refs FROM {schema}.nodes WHERE nodes.hash = lacked.hash LIMIT 1
) AS node
