SELECT hash FROM unnest($1) WITH ORDINALITY AS asked(hash, place)
WHERE NOT EXISTS (SELECT FROM {schema}.nodes WHERE nodes.hash = asked.hash AND condemned_at IS NULL)
ORDER BY place
