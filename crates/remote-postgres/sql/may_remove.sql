-- Tells whether this user may remove nodes. A worker may condemn them, and no more.
SELECT has_table_privilege('{schema}.nodes', 'DELETE') AS allowed
