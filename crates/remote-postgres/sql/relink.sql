-- Says anew that the node $1 refers to the nodes $2.
UPDATE {schema}.nodes SET refs = $2::bigint[] WHERE hash = $1 AND NOT {old} RETURNING hash
