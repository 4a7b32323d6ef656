-- At most $2 threads after $1. Each comes with the needed nodes that are not there (`lacking`), with the nodes that were there with
-- its records and are not there any more (`gone`), and with whether its head is the last one of its history.
SELECT id, status, label, lease_owner, {records} AS records,
EXISTS (SELECT FROM unnest(records) AS one WHERE one IS NULL) AS lacks_record, ARRAY(
  SELECT need FROM (
    SELECT head UNION SELECT workflow
    UNION SELECT from_head FROM {schema}.history WHERE thread = id UNION SELECT to_head FROM {schema}.history WHERE thread = id
  ) AS needed(need)
  WHERE NOT EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = need)
) AS lacking,
ARRAY(
  SELECT DISTINCT root FROM unnest(roots) AS root
  WHERE root IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = root)
) AS gone,
version = (SELECT count(*) FROM {schema}.history WHERE thread = id) AND head = coalesce(
  (SELECT to_head FROM {schema}.history WHERE thread = id ORDER BY history.version DESC LIMIT 1), head
) AS fits_history
FROM {schema}.threads WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2
