-- What the roles may do with tables that were added later: a statement for each role that there is.
SELECT grants FROM (VALUES
  ('{schema}_reader', 'GRANT SELECT ON {schema}.names TO {schema}_reader'),
  ('{schema}_worker', 'GRANT INSERT, UPDATE (hash, version, earlier) ON {schema}.names TO {schema}_worker')
) AS wanted(role, grants)
WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = role)
