-- The nodes that must stay with all that they need. The last line has nodes that records name and the column `roots` does not have.
SELECT head AS hash FROM {schema}.threads
UNION SELECT workflow FROM {schema}.threads
UNION SELECT root FROM {schema}.threads CROSS JOIN LATERAL unnest(roots) AS root
UNION SELECT from_head FROM {schema}.history
UNION SELECT to_head FROM {schema}.history
UNION SELECT hash FROM {schema}.names
UNION SELECT unnest({named}::bigint[])
