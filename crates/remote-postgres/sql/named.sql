-- The nodes that a record names, as far as they are there or the same statement stores them.
ARRAY(
  SELECT DISTINCT one FROM unnest({nodes}::bigint[]) AS one
  WHERE one = ANY({given}) OR EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = one AND condemned_at IS NULL)
)
