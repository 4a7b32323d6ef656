#!/bin/sh
. "$(dirname "$0")/lib.sh"
broken=$(instruction)
notes=$(subjects "$(range)")

# On the first visit the instruction lists the commits; later it names the rules that were broken.
is_broken() { printf '%s\n' "$broken" | grep -q "^- rule $1:"; }
if is_broken unfinished; then
  notes=$(printf '%s\n' "$notes" | grep -v -i -E "^$unfinished" || true)
fi
if is_broken capital; then
  notes=$(printf '%s\n' "$notes" | awk '{ print toupper(substr($0, 1, 1)) substr($0, 2) }')
fi
if is_broken stop; then
  notes=$(printf '%s\n' "$notes" | sed 's/\.*$//')
fi
if is_broken length; then
  # The cut may be in the middle of a character of several bytes, so the last one goes.
  notes=$(printf '%s\n' "$notes" | awk '
    length($0) > 72 { $0 = substr($0, 1, 69); sub(/[\300-\377][\200-\277]*$/, ""); $0 = $0 "…" }
    { print }')
fi

echo ---
printf '%s\n' "$notes" | sed '/^$/d; s/^/- /' | block notes
echo ---
