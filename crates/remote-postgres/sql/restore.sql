-- Replaces what is stored under the hashes of these nodes. The parameters are the first six of a put.
UPDATE {schema}.nodes SET
  type = whole.type, payload = whole.payload, digest = whole.digest, stamp = whole.stamp, refs = whole.refs::bigint[], condemned_at = NULL
FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::text[])
  AS whole(hash, type, payload, digest, stamp, refs)
WHERE nodes.hash = whole.hash AND NOT {old}
RETURNING nodes.hash
