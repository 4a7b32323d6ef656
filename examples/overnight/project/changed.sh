# Runs the tests of the parts that this branch has changed. It fails if there is none, or if something is not committed.
changed=$(git diff --name-only "$UWF_BRANCH_BASE" -- lib | sed 's,^lib/,,; s,\.sh$,,')
[ -n "$changed" ] || { echo "nothing below lib has changed"; exit 1; }
[ -z "$(git status --porcelain)" ] || { echo "these changes are not committed:"; git status --short; exit 1; }
exec sh test.sh $changed
