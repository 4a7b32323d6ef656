-- The rest of a walk: what the nodes need that are reached. `LATERAL` with `LIMIT` makes the planner look each node up by the
-- index, also while it has no statistics.
  UNION
  SELECT need FROM reached CROSS JOIN LATERAL (
    SELECT array_append(refs, type) AS needs FROM {schema}.nodes WHERE nodes.hash = reached.hash LIMIT 1
  ) AS node CROSS JOIN LATERAL unnest(node.needs) AS need
  WHERE NOT need = ANY({have})
