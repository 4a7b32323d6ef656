-- Takes a lease, and returns a row with the thread. $4 and $5 are about nodes, and are not used.
-- `is_new` tells whether the owner did not have the lease before: the statement sees the table with the old fence. It is false if the
-- answer to an earlier call was lost, and true for both of two calls with one mark of which the second has waited for the first.
WITH {lease}
SELECT id, fence, head, status, records, (SELECT store_id FROM {schema}.remote) AS store,
  NOT EXISTS (SELECT FROM {schema}.threads AS before WHERE before.id = leased.id AND before.fence = leased.fence) AS is_new
FROM leased
