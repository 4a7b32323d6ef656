-- Ends the lease of the thread $1 that $2 has by the fence $3. With the next fence, a step that its owner still sends is refused.
UPDATE {schema}.threads SET fence = fence + 1, lease_owner = NULL, lease_until = NULL, ready_at = clock_timestamp()
WHERE id = $1 AND lease_owner = $2 AND fence = $3 AND NOT {old}
RETURNING id
