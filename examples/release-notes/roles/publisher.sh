#!/bin/sh
. "$(dirname "$0")/lib.sh"
{
  echo '# Release notes'
  echo
  instruction
} > RELEASE_NOTES.md
echo ---
echo "file: $(quoted "$PWD/RELEASE_NOTES.md")"
echo ---
