-- Adds what a remote lacks that an older version has made. Nothing that is there changes.
{names_table}
UPDATE {schema}.remote SET version = {version} WHERE version < {version}
