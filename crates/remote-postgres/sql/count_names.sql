SELECT count(*) AS names FROM {schema}.names
