-- The same, for statements that change threads. One table after the other: nobody waits for both.
SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.threads IN SHARE MODE
