#!/bin/sh
. "$(dirname "$0")/lib.sh"
broken=$(instruction)
notes=$(git log --no-merges --reverse --format=%s "$(range)")

# On the first visit the instruction lists the commits; later it names the rules that were broken.
mends() { printf '%s\n' "$broken" | grep -q "^- rule $1:"; }
if mends unfinished; then
  notes=$(printf '%s\n' "$notes" | grep -v -i -E '^(wip\b|fixup!|squash!)' || true)
fi
if mends capital; then
  notes=$(printf '%s\n' "$notes" | awk '{ print toupper(substr($0, 1, 1)) substr($0, 2) }')
fi
if mends stop; then
  notes=$(printf '%s\n' "$notes" | sed 's/\.$//')
fi
if mends length; then
  notes=$(printf '%s\n' "$notes" | awk '{ if (length($0) > 70) print substr($0, 1, 69) "…"; else print }')
fi

echo ---
printf '%s\n' "$notes" | sed 's/^/- /' | block notes
echo ---
