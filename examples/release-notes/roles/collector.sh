#!/bin/sh
. "$(dirname "$0")/lib.sh"
range=$(range)
subjects=$(subjects "$range")
echo ---
if [ -z "$subjects" ]; then
  echo '$status: nothing'
  printf 'range: %s\n' "$(quoted "$range")"
else
  echo '$status: found'
  printf 'range: %s\n' "$(quoted "$range")"
  printf 'count: %s\n' "$(printf '%s\n' "$subjects" | grep -c '')"
  echo 'subjects:'
  printf '%s\n' "$subjects" | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/  - "&"/'
fi
echo ---
