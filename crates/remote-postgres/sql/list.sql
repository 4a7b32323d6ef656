SELECT id, workflow, head, status, label, lease_owner,
  (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint AS left
FROM {schema}.threads
WHERE ($1::text[] = '{}' OR status = ANY($1)) AND ($2::text IS NULL OR label = $2) AND ($3::text IS NULL OR id > $3)
ORDER BY id LIMIT $4
