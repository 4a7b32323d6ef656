-- Whether the head of a thread has moved from $2 to $3 and is no longer where it was before.
SELECT EXISTS (
  SELECT FROM {schema}.threads JOIN {schema}.history ON history.thread = threads.id
  WHERE id = $1 AND head <> $2 AND from_head = $2 AND to_head = $3
) AS moved
