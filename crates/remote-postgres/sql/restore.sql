-- Replaces what is stored under the hashes of these nodes. The parameters are the first seven of a put.
WITH given AS (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[])
    AS given(hash, type, payload, digest, stamp)
), links AS (
  SELECT source, array_agg(target ORDER BY place) AS refs
  FROM unnest($6::bigint[], $7::bigint[]) WITH ORDINALITY AS link(source, target, place) GROUP BY source
), whole AS (
  SELECT given.*, coalesce(refs, '{}') AS refs FROM given LEFT JOIN links ON links.source = given.hash
)
UPDATE {schema}.nodes SET
  type = whole.type, payload = whole.payload, digest = whole.digest, stamp = whole.stamp, refs = whole.refs, condemned_at = NULL
FROM whole WHERE nodes.hash = whole.hash AND NOT {old}
RETURNING nodes.hash
