#!/bin/sh
# Writes release notes for a git repository: run.sh [<repository>]
# Safe to call from cron as often as you like: a thread that is under way goes on where it stands.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "${1:-.}" && git rev-parse --show-toplevel)
# The state belongs to the repository, whatever root the caller works with.
UWF_STORAGE_ROOT=$(cd "$repository" && git rev-parse --absolute-git-dir)/uwf
export UWF_STORAGE_ROOT
export UWF_FORMAT=json

# One agent plays all roles: each is the shell script of its name.
uwf config set agents.script.command uwf-command > /dev/null
uwf config set agents.script.args "[\"--\", \"sh\", \"$here/roles/{role}.sh\"]" > /dev/null
uwf config set agents.script.timeout 1m > /dev/null
uwf config set defaultAgent script > /dev/null

thread=$(uwf thread list --take 1 | sed -n 's/^\[{"thread":"\([^"]*\)".*/\1/p')
if [ -z "$thread" ]; then
  thread=$(uwf thread start "$here/release-notes.yaml" -p "Write the release notes" --cwd "$repository" |
    sed 's/.*"thread":"\([^"]*\)".*/\1/')
fi

# A step that fails ends this script with its exit code, so that cron reports it.
while :; do
  report=$(uwf thread step "$thread")
  printf '%s\n' "$report"
  case $report in *'"done":true'*) exit 0 ;; esac
done
