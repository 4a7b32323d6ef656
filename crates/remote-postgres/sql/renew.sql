-- Makes the lease of the thread $1 that the owner $2 has with the fence $3 last for $4 milliseconds.
UPDATE {schema}.threads SET lease_until = clock_timestamp() + $4 * interval '1 millisecond'
WHERE id = $1 AND {own:$2} AND fence = $3 AND NOT {old}
RETURNING id
