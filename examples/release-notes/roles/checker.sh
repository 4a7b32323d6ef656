#!/bin/sh
. "$(dirname "$0")/lib.sh"
notes=$(instruction | sed '/^$/d')

# Prints the name of a rule with the first line that breaks it.
rule() {
  line=$(printf '%s\n' "$notes" | grep $2 -E "$3" | sed 1q)
  [ -z "$line" ] || printf '  - %s\n' "$(quoted "rule $1: $line")"
}
broken=$(
  rule unfinished -i "^- $unfinished"
  rule capital '' '^- [a-z]'
  rule stop '' '\.$'
  rule length '' '^- .{73,}$'
)

echo ---
if [ -n "$broken" ]; then
  echo '$status: rejected'
  echo 'broken:'
  printf '%s\n' "$broken"
else
  echo '$status: accepted'
  printf '%s\n' "$notes" | block notes
fi
echo ---
