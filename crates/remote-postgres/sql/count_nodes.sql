SELECT count(*) AS nodes, coalesce(sum(octet_length(payload)), 0)::bigint AS bytes,
  count(condemned_at) AS condemned, coalesce(sum(octet_length(payload)) FILTER (WHERE condemned_at IS NOT NULL), 0)::bigint AS condemned_bytes
FROM {schema}.nodes
