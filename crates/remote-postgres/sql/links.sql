-- At most $2 nodes from $1 on, each with what it needs.
SELECT hash, array_append({refs}, type) AS needs FROM {schema}.nodes WHERE hash >= $1 ORDER BY hash LIMIT $2
