-- Threads that have a history and are not there.
SELECT DISTINCT thread FROM {schema}.history WHERE NOT EXISTS (SELECT FROM {schema}.threads WHERE id = thread)
ORDER BY thread LIMIT 100
