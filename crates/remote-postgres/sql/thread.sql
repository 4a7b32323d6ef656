-- Where a thread stands, for those who did not get its lease.
SELECT status, lease_owner, (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint AS left
FROM {schema}.threads WHERE id = $1
