SELECT name, hash, version, earlier FROM {schema}.names
WHERE $1::text IS NULL OR name > $1
ORDER BY name LIMIT $2
