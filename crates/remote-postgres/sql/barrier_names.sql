-- The same for statements that set names.
SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.names IN SHARE MODE
