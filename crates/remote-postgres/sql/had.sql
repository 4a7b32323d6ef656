-- The head of a thread, and whether it had the head $2 before.
SELECT head, head = $2 OR EXISTS (SELECT FROM {schema}.history WHERE thread = id AND from_head = $2) AS had
FROM {schema}.threads WHERE id = $1
