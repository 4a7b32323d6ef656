-- A thread, and whether it has or had the head $2.
SELECT id, workflow, head, status, label, fence, lease_owner, records,
  (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint AS left, {old} AS is_old,
  head = $2 OR EXISTS (SELECT FROM {schema}.history WHERE thread = id AND from_head = $2) AS had
FROM {schema}.threads WHERE id = $1
