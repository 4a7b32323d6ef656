-- Gives the thread $1 the label $2, or takes its label away if $2 is NULL.
UPDATE {schema}.threads SET label = $2 WHERE id = $1 AND NOT {old}
RETURNING id
