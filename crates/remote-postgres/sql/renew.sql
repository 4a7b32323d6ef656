UPDATE {schema}.threads SET lease_until = clock_timestamp() + $4 * interval '1 millisecond'
WHERE id = $1 AND {own:$2} AND fence = $3 AND NOT {old}
