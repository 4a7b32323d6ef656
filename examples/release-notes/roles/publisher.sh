#!/bin/sh
. "$(dirname "$0")/lib.sh"
{
  echo '# Release notes'
  echo
  instruction | sed '/^$/d'
} > RELEASE_NOTES.md
echo ---
printf 'file: %s\n' "$(quoted "$PWD/RELEASE_NOTES.md")"
echo ---
