-- Replaces the stored references of the node $1 by the nodes $2.
UPDATE {schema}.nodes SET refs = $2::bigint[] WHERE hash = $1 AND NOT {old} RETURNING hash
