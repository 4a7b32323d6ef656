-- Takes the lease of a thread that the owner $2 has leased already, or else of the thread that has been ready for the longest time.
-- The worker has the labels $1, and does not want the threads $6. A thread that $2 has leased already is given all the same.
mine AS (
  SELECT id FROM {schema}.threads WHERE lease_owner IS NOT NULL AND {own:$2} AND status <> 'ended' LIMIT 1
), free AS (
  SELECT id FROM {schema}.threads
  WHERE status = 'ready' AND (lease_owner IS NULL OR lease_until <= clock_timestamp())
    AND (label IS NULL OR label = ANY($1)) AND NOT id = ANY($6) AND NOT EXISTS (SELECT FROM mine)
  ORDER BY ready_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
), leased AS (
  UPDATE {schema}.threads SET
    fence = fence + CASE WHEN {own:$2} THEN 0 ELSE 1 END,
    lease_owner = $2,
    lease_until = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE id = coalesce((SELECT id FROM mine), (SELECT id FROM free)) AND status <> 'ended' AND NOT {old}
    AND (lease_owner IS NULL OR {own:$2} OR lease_until <= clock_timestamp())
  RETURNING id, fence, head, status, records
)
