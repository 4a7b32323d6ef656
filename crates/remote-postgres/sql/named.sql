-- Those of the nodes that a record names that are there, or are stored by the same statement.
ARRAY(
  SELECT DISTINCT root FROM unnest({roots}::bigint[]) AS root
  WHERE root = ANY({given}) OR EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = root AND condemned_at IS NULL)
)
