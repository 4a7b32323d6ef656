-- Waits for all statements under way that store nodes. Those that come after it see what was done before it.
-- Statements that are sent together are one transaction, which the server also ends if one of them fails.
SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.nodes IN SHARE MODE
