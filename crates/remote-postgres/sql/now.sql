SELECT clock_timestamp()::text AS now
