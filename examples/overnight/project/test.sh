# Runs the tests of the named parts, or all of them: `sh test.sh [slug …]`.
failures=0

is() {
  if [ "$2" = "$3" ]; then
    echo "ok      $part: $1"
  else
    echo "not ok  $part: $1: \`$2\` is not \`$3\`"
    failures=$((failures + 1))
  fi
}

[ $# -gt 0 ] || set -- $(ls tests | sed 's/\.sh$//')
for part in "$@"; do
  . "./tests/$part.sh"
done
[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
