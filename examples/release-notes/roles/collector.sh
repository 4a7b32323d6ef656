#!/bin/sh
. "$(dirname "$0")/lib.sh"
range=$(range)
subjects=$(git log --no-merges --reverse --format=%s "$range")
echo ---
if [ -z "$subjects" ]; then
  echo '$status: nothing'
  echo "range: $(quoted "$range")"
else
  echo '$status: found'
  echo "range: $(quoted "$range")"
  echo "count: $(printf '%s\n' "$subjects" | wc -l)"
  echo 'subjects:'
  printf '%s\n' "$subjects" | while IFS= read -r subject; do
    echo "  - $(quoted "$subject")"
  done
fi
echo ---
