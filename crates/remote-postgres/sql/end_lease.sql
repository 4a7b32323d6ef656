-- Ends the lease of the thread $1 that the owner $2 has with the fence $3. The fence grows, so a step that the owner still sends is
-- refused.
UPDATE {schema}.threads SET fence = fence + 1, lease_owner = NULL, lease_until = NULL, ready_at = clock_timestamp()
WHERE id = $1 AND {own:$2} AND fence = $3 AND NOT {old}
RETURNING id
