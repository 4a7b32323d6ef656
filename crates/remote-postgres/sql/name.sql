SELECT name, hash, version, earlier FROM {schema}.names WHERE name = $1
