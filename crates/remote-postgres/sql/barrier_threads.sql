-- The same for statements that change threads. The tables are locked one after the other, so no statement waits for two locks.
SET LOCAL lock_timeout = '5s'; LOCK TABLE {schema}.threads IN SHARE MODE
