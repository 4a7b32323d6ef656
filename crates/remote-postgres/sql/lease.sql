-- Takes a lease, and returns a row with the thread. `is_new` tells whether the owner did not have the lease before: the statement sees
-- the table with the old fence.
WITH {lease}
SELECT id, fence, head, records,
  NOT EXISTS (SELECT FROM {schema}.threads AS before WHERE before.id = leased.id AND before.fence = leased.fence) AS is_new
FROM leased
