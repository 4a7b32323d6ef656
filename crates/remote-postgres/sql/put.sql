-- Stores nodes, and the new thread $9 if it is given. The record of the thread names the nodes $15.
{store}, added AS (
  INSERT INTO {schema}.threads (id, workflow, head, status, label, records, roots)
  SELECT $9, $10, $11, $12, $13, ARRAY[$14]::bytea[], {named}
  FROM fit WHERE what = 'stored' AND $9 IS NOT NULL
  ON CONFLICT (id) DO NOTHING
  RETURNING id
)
SELECT what, EXISTS (SELECT FROM added) AS added,
  ARRAY(SELECT hash FROM lacking) AS lacking, ARRAY(SELECT hash FROM clashing) AS clashing
FROM fit
