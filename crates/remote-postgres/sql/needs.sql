-- The recursive part of a walk: the needs of each node that was reached. `LATERAL` with `LIMIT` makes the planner use the index for
-- each node, even without statistics.
  UNION
  SELECT need FROM reached CROSS JOIN LATERAL (
    SELECT array_append(refs, type) AS needs FROM {schema}.nodes WHERE nodes.hash = reached.hash LIMIT 1
  ) AS node CROSS JOIN LATERAL unnest(node.needs) AS need
  WHERE NOT need = ANY({have})
