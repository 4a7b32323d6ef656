-- All names, and whether what each stands for is there.
SELECT name, hash, EXISTS (
  SELECT FROM {schema}.nodes WHERE nodes.hash = names.hash
) AS is_there
FROM {schema}.names ORDER BY name
