-- Stores nodes, and moves the head of the thread $9 from $12 to $13. The record $15, which names the nodes $17, replaces the
-- records $16 that it was merged from. If $18 is true, the lease of the owner $10 with the fence $11 is given back. `decided` says
-- which of these are done. All other parts read it.
{store}, named AS MATERIALIZED (
  SELECT {named} AS roots
), thread AS MATERIALIZED (
  SELECT head, coalesce({own:$10} AND fence = $11, false) AS valid,
    head <> $12 AND EXISTS (
      SELECT FROM {schema}.history WHERE history.thread = $9 AND from_head = $12 AND to_head = $13
    ) AS already
  FROM {schema}.threads WHERE id = $9 FOR UPDATE
), decided AS MATERIALIZED (
  SELECT CASE
    WHEN fit.what = 'old' THEN 'old'
    WHEN already THEN 'already'
    WHEN fit.what <> 'stored' THEN fit.what
    WHEN valid IS NOT TRUE THEN 'lost'
    WHEN head <> $12 THEN 'head'
    ELSE 'moved'
  END AS what, valid, head FROM fit LEFT JOIN thread ON true
), updated AS (
  UPDATE {schema}.threads AS known SET
    records = array_append(ARRAY(SELECT one FROM unnest(known.records) AS one WHERE NOT one = ANY($16) AND one <> $15), $15),
    roots = CASE WHEN known.records <@ array_append($16, $15) THEN named.roots
      ELSE ARRAY(SELECT DISTINCT root FROM unnest(known.roots || named.roots) AS root) END,
    head = CASE WHEN what = 'moved' THEN $13 ELSE known.head END,
    status = CASE WHEN what = 'moved' THEN $14 ELSE known.status END,
    version = known.version + CASE WHEN what = 'moved' THEN 1 ELSE 0 END,
    lease_owner = CASE WHEN $18 AND valid AND what IN ('moved', 'already') THEN NULL ELSE known.lease_owner END,
    lease_until = CASE WHEN $18 AND valid AND what IN ('moved', 'already') THEN NULL ELSE known.lease_until END,
    ready_at = CASE WHEN $18 AND valid AND what IN ('moved', 'already') THEN clock_timestamp() ELSE known.ready_at END
  FROM decided, named WHERE known.id = $9 AND what NOT IN ('lacking', 'clash', 'old')
  RETURNING known.version
), logged AS (
  INSERT INTO {schema}.history (thread, from_head, to_head, version)
  SELECT $9, $12, $13, version FROM updated, decided WHERE what = 'moved'
)
SELECT what, head, ARRAY(SELECT hash FROM lacking) AS lacking, ARRAY(SELECT hash FROM clashing) AS clashing FROM decided
