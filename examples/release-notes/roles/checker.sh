#!/bin/sh
. "$(dirname "$0")/lib.sh"
notes=$(instruction | sed '/^$/d')

# Prints the rule's name with the first line that breaks it.
rule() {
  line=$(printf '%s\n' "$notes" | grep -m 1 $3 -E "$2" || true)
  [ -z "$line" ] || echo "  - $(quoted "rule $1: $line")"
}
broken=$(
  rule unfinished '^- (wip|fixup!|squash!)' -i
  rule capital '^- [a-z]' -e
  rule stop '\.$' -e
  rule length '^.{75,}$' -e
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
