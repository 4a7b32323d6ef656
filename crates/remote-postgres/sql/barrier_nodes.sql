-- Waits until the statements that are storing nodes have ended (point 3 of "Garbage of a remote" in docs/architecture.md).
-- Statements that are sent together are one transaction, which the server ends even if one of them fails.
SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.nodes IN SHARE MODE
