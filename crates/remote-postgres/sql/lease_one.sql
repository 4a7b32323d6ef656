-- Takes the lease of the thread $1.
leased AS (
  UPDATE {schema}.threads SET
    fence = fence + CASE WHEN {own:$2} THEN 0 ELSE 1 END,
    lease_owner = $2,
    lease_until = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE id = $1 AND status <> 'ended' AND NOT {old}
    AND (lease_owner IS NULL OR {own:$2} OR lease_until <= clock_timestamp())
  RETURNING id, fence, head, status, records
)
