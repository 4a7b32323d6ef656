-- Stores nodes, and the new thread $8 if it is given. The record of the thread names the nodes $14.
{store}, added AS (
  INSERT INTO {schema}.threads (id, workflow, head, status, label, records, roots)
  SELECT $8, $9, $10, $11, $12, ARRAY[$13]::bytea[], {named}
  FROM fit WHERE what = 'stored' AND $8 IS NOT NULL
  ON CONFLICT (id) DO NOTHING
  RETURNING id
)
SELECT what, EXISTS (SELECT FROM added) AS added,
  ARRAY(SELECT hash FROM lacking) AS lacking, ARRAY(SELECT hash FROM clashing) AS clashing
FROM fit
