-- True if this client is too old for what is stored. A remote without its row fits no client.
(NOT EXISTS (SELECT FROM {schema}.remote WHERE least_client <= {client}))
