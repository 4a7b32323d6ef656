-- True if this client is too old for what is stored.
(SELECT coalesce(max(least_client), 2147483647) > {client} FROM {schema}.remote)
