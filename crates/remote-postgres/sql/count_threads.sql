SELECT status, count(*) AS threads, count(*) FILTER (WHERE lease_owner IS NOT NULL AND lease_until > clock_timestamp()) AS leases
FROM {schema}.threads GROUP BY status ORDER BY status
