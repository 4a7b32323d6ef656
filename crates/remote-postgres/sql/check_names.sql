-- All names, and whether what each stands for is there.
SELECT name, hash, EXISTS (
  SELECT FROM {schema}.nodes WHERE nodes.hash = names.hash AND condemned_at IS NULL
) AS is_there
FROM {schema}.names ORDER BY name
