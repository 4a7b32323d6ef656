-- At most $2 nodes from $1 on, until their payloads have $3 bytes. Each comes with the needed nodes that are not there, unless it
-- is condemned.
WITH page AS MATERIALIZED (
  SELECT *, sum(octet_length(payload)) OVER (ORDER BY hash) - octet_length(payload) AS bytes_before
  FROM (SELECT * FROM {schema}.nodes WHERE hash >= $1 ORDER BY hash LIMIT $2) AS next
)
SELECT hash, type, payload, digest, stamp, {refs} AS refs,
  EXISTS (SELECT FROM unnest(refs) AS one WHERE one IS NULL) AS lacks_ref, ARRAY(
  SELECT DISTINCT need FROM (SELECT unnest(refs) UNION ALL SELECT type) AS needed(need)
  WHERE need IS NOT NULL AND page.condemned_at IS NULL AND NOT EXISTS (
    SELECT FROM {schema}.nodes AS needed WHERE needed.hash = need
  )
) AS lacking
FROM page WHERE bytes_before < $3 ORDER BY hash
