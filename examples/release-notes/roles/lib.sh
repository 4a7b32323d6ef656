# Functions for all roles. Each role is started in the repository and answers on standard output.
set -eu
# Count bytes, so that lengths and letters are the same on every machine.
export LC_ALL=C

# A subject that is not for readers, as an extended regular expression for upper and lower case.
unfinished='(wip([^[:alnum:]]|$)|fixup!|squash!)'

# The moderator's instruction without its first line: what follows the last heading of the prompt, which comes on
# standard input. `$UWF_EDGE_PROMPT` would do, too, but a variable cannot hold a long one.
instruction() {
  awk '/^## Moderator Instruction$/ { text = ""; next } { text = text $0 "\n" } END { printf "%s", text }' | sed 1,2d
}

range() {
  if tag=$(git describe --tags --abbrev=0 2>/dev/null); then
    printf '%s..HEAD' "$tag"
  else
    printf 'HEAD'
  fi
}

# The subjects of the commits, oldest first, without the control characters that YAML refuses.
subjects() {
  git log --no-merges --reverse --format=%s "$1" | tr -d '\000-\011\013-\037\177'
}

# Text as a double-quoted YAML scalar. What holds it is printed by printf: some shells' echo reads backslashes.
quoted() {
  printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# Standard input as a YAML block, indented under its key.
block() {
  printf '%s: |\n' "$1"
  sed 's/^/  /'
}
