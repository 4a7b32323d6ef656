-- The nodes that a record names, as far as they are there or the same statement stores them.
ARRAY(
  SELECT DISTINCT root FROM unnest({roots}::bigint[]) AS root
  WHERE root = ANY({given}) OR EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = root AND condemned_at IS NULL)
)
