-- At most $2 threads after $1, each with its records and its column `roots`.
SELECT id, {records} AS records,
  ARRAY(SELECT root FROM unnest(roots) AS root WHERE root IS NOT NULL) AS roots
FROM {schema}.threads WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2
