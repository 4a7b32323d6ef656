-- The statements that allow what older versions did not, for the roles that exist.
SELECT grants FROM (VALUES
  ('{schema}_reader', 'GRANT SELECT ON {schema}.names TO {schema}_reader'),
  ('{schema}_worker', 'GRANT UPDATE (label) ON {schema}.threads TO {schema}_worker'),
  ('{schema}_worker', 'GRANT INSERT, UPDATE (hash, version, earlier) ON {schema}.names TO {schema}_worker')
) AS wanted(role, grants)
WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = role)
