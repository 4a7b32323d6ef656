-- Waits for all statements under way that store nodes. Those that come after it see what was done before it.
BEGIN; SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.nodes IN SHARE MODE; COMMIT
