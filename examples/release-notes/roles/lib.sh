# What the roles share. Each is started in the repository, with the contract's variables in its environment.
set -eu

# The moderator's instruction, without its first line; large ones are only in the store.
instruction() {
  if [ -n "${UWF_EDGE_PROMPT:-}" ]; then
    printf '%s\n' "$UWF_EDGE_PROMPT"
  else
    uwf cas get "$UWF_EDGE_PROMPT_REF" --format text
  fi | sed 1d
}

range() {
  if tag=$(git describe --tags --abbrev=0 2>/dev/null); then
    printf '%s..HEAD' "$tag"
  else
    printf 'HEAD'
  fi
}

# Text as a double-quoted YAML scalar.
quoted() {
  printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# Standard input as a YAML block, indented under its key.
block() {
  printf '%s: |\n' "$1"
  sed 's/^/  /'
}
