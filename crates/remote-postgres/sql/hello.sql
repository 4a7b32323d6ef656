SELECT version, least_client, store_id FROM {schema}.remote
