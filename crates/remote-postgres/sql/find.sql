-- The threads $1 that are there, each with whether it has or had the head beside it in $2. `LATERAL` with `LIMIT` makes the planner use
-- the index for each thread, even without statistics.
SELECT thread.* FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS asked(id, head, place) CROSS JOIN LATERAL (
  SELECT id, workflow, head, status, label, fence, lease_owner, records,
    (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint AS left, {old} AS is_old,
    coalesce(head = asked.head, false) OR EXISTS (SELECT FROM {schema}.history WHERE thread = id AND from_head = asked.head) AS had
  FROM {schema}.threads WHERE threads.id = asked.id LIMIT 1
) AS thread
ORDER BY place
