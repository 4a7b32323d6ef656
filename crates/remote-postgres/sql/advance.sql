-- Stores nodes, and moves the head of the thread $8 from $11 to $12. The record $14, which names the nodes $16, replaces the
-- records $15 that it was merged from. If $17 is true, the lease of the owner $9 with the fence $10 is given back. `decided` says
-- which of these are done. All other parts read it.
{store}, named AS MATERIALIZED (
  SELECT {named} AS roots
), thread AS MATERIALIZED (
  SELECT head, coalesce({own:$9} AND fence = $10, false) AS valid,
    head <> $11 AND EXISTS (
      SELECT FROM {schema}.history WHERE history.thread = $8 AND from_head = $11 AND to_head = $12
    ) AS already
  FROM {schema}.threads WHERE id = $8 FOR UPDATE
), decided AS MATERIALIZED (
  SELECT CASE
    WHEN fit.what = 'old' THEN 'old'
    WHEN already THEN 'already'
    WHEN fit.what <> 'stored' THEN fit.what
    WHEN valid IS NOT TRUE THEN 'lost'
    WHEN head <> $11 THEN 'head'
    ELSE 'moved'
  END AS what, valid, head FROM fit LEFT JOIN thread ON true
), updated AS (
  UPDATE {schema}.threads AS known SET
    records = array_append(ARRAY(SELECT one FROM unnest(known.records) AS one WHERE NOT one = ANY($15) AND one <> $14), $14),
    roots = CASE WHEN known.records <@ array_append($15, $14) THEN named.roots
      ELSE ARRAY(SELECT DISTINCT root FROM unnest(known.roots || named.roots) AS root) END,
    head = CASE WHEN what = 'moved' THEN $12 ELSE known.head END,
    status = CASE WHEN what = 'moved' THEN $13 ELSE known.status END,
    version = known.version + CASE WHEN what = 'moved' THEN 1 ELSE 0 END,
    lease_owner = CASE WHEN $17 AND valid AND what IN ('moved', 'already') THEN NULL ELSE known.lease_owner END,
    lease_until = CASE WHEN $17 AND valid AND what IN ('moved', 'already') THEN NULL ELSE known.lease_until END,
    ready_at = CASE WHEN $17 AND valid AND what IN ('moved', 'already') THEN clock_timestamp() ELSE known.ready_at END
  FROM decided, named WHERE known.id = $8 AND what NOT IN ('lacking', 'clash', 'old')
  RETURNING known.version
), logged AS (
  INSERT INTO {schema}.history (thread, from_head, to_head, version)
  SELECT $8, $11, $12, version FROM updated, decided WHERE what = 'moved'
)
SELECT what, head, ARRAY(SELECT hash FROM lacking) AS lacking, ARRAY(SELECT hash FROM clashing) AS clashing FROM decided
