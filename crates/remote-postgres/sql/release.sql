-- Gives a lease back, if it counts. In any case, the record $4, which names the nodes $6, replaces the records $5 that it was
-- merged from.
WITH named AS MATERIALIZED (
  SELECT {named} AS roots
), held AS MATERIALIZED (
  SELECT id, coalesce({own:$2} AND fence = $3, false) AS valid FROM {schema}.threads 
  WHERE id = $1 AND NOT {old} FOR UPDATE
), released AS (
  UPDATE {schema}.threads AS thread SET
    records = array_append(ARRAY(SELECT one FROM unnest(thread.records) AS one WHERE NOT one = ANY($5) AND one <> $4), $4),
    roots = CASE WHEN thread.records <@ array_append($5, $4) THEN named.roots
      ELSE ARRAY(SELECT DISTINCT root FROM unnest(thread.roots || named.roots) AS root) END,
    lease_owner = CASE WHEN valid THEN NULL ELSE thread.lease_owner END,
    lease_until = CASE WHEN valid THEN NULL ELSE thread.lease_until END,
    ready_at = CASE WHEN valid THEN clock_timestamp() ELSE thread.ready_at END
  FROM held, named WHERE thread.id = held.id
)
SELECT valid FROM held
