-- At most $2 threads after $1, each with its records, and with its workflow and heads.
SELECT id, {records} AS records, ARRAY(
  SELECT head UNION SELECT workflow
  UNION SELECT from_head FROM {schema}.history WHERE thread = id UNION SELECT to_head FROM {schema}.history WHERE thread = id
) AS needs
FROM {schema}.threads WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2
