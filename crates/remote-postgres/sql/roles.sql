-- Who may do what with the remote in the schema {schema}. Run this as the owner of the schema, who must be allowed to make
-- roles. It may be run again, as in a schema that was made anew: the roles are those of the whole server. Only the owner makes and
-- migrates the remote, collects its garbage, and replaces what is damaged.

-- A reader sees all threads, nodes and names, and changes nothing.
DO $$ BEGIN CREATE ROLE {schema}_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT USAGE ON SCHEMA {schema} TO {schema}_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_reader;

-- A worker shares threads and names, and does steps. It may condemn a node, or take that back. It changes nothing else of a node,
-- and removes nothing.
DO $$ BEGIN CREATE ROLE {schema}_worker NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT {schema}_reader TO {schema}_worker;
GRANT INSERT ON {schema}.nodes, {schema}.threads, {schema}.history, {schema}.names TO {schema}_worker;
GRANT UPDATE (condemned_at) ON {schema}.nodes TO {schema}_worker;
GRANT UPDATE (head, status, label, version, fence, lease_owner, lease_until, ready_at, records, roots) ON {schema}.threads
  TO {schema}_worker;
GRANT UPDATE (hash, version, earlier) ON {schema}.names TO {schema}_worker;

-- Then a machine gets a user of its own:
--   CREATE ROLE machine_1 LOGIN PASSWORD '...';
--   GRANT {schema}_worker TO machine_1;
