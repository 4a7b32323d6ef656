SELECT node.* FROM unnest($1) WITH ORDINALITY AS asked(hash, place) CROSS JOIN LATERAL (
  SELECT hash, type, payload, digest, stamp, refs FROM {schema}.nodes WHERE nodes.hash = asked.hash LIMIT 1
) AS node
ORDER BY place
