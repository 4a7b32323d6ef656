#!/bin/sh
# Writes release notes for a git repository: run.sh <repository>
# Safe to call from cron as often as you like: a thread that is under way goes on where it stands.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$1" && git rev-parse --show-toplevel)
export UWF_STORAGE_ROOT="${UWF_STORAGE_ROOT:-$repository/.git/uwf}"
export UWF_FORMAT=json

if [ ! -f "$UWF_STORAGE_ROOT/config.yaml" ]; then
  for role in collector drafter checker publisher; do
    uwf config set "agents.$role.command" uwf-command > /dev/null
    uwf config set "agents.$role.args" "[\"--\", \"$here/roles/$role.sh\"]" > /dev/null
    uwf config set "agents.$role.timeout" 1m > /dev/null
    uwf config set "agentOverrides.release-notes.$role" "$role" > /dev/null
  done
fi
uwf workflow put "$here/release-notes.yaml" > /dev/null

thread=$(uwf thread list --take 1 | sed -n 's/^\[{"thread":"\([^"]*\)".*/\1/p')
if [ -z "$thread" ]; then
  thread=$(uwf thread start release-notes -p "Write the release notes" --cwd "$repository" |
    sed 's/.*"thread":"\([^"]*\)".*/\1/')
fi

# Exit codes are the step's own, so that cron reports a failed or suspended thread.
while :; do
  report=$(uwf thread step "$thread")
  printf '%s\n' "$report"
  case $report in *'"done":true'*) exit 0 ;; esac
done
