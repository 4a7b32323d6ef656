#!/bin/sh
# Adds to order.ld beside it which functions a step runs, so that the linker puts them side by side
# (docs/performance.md says what for). Needs valgrind. Run it when the path of a step has changed much; an old list
# makes a step slower and nothing else. Names that are there stay: of functions that are alike, another may stand for
# all in another build. Names that fit nothing any more do no harm.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../../.."
order=$PWD/crates/cli/link/order.ld
build=$PWD/target/order
CARGO_PROFILE_RELEASE_STRIP=false cargo build --release --bin uwf --target-dir "$build"
uwf=$build/release/uwf

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export UWF_STORAGE_ROOT="$root" UWF_FORMAT=json
cat >"$root/loop.yaml" <<'YAML'
name: loop
description: Goes on for ever
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter:
      type: object
      properties:
        $status: { enum: [again, done] }
        note: { type: string }
      required: [$status, note]
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer:
    again: { role: writer, prompt: "Write on after {{note}}." }
    done: { role: $END, prompt: "Done." }
YAML
answer() {
    printf 'roles:\n  writer:\n    - output: "---\\n$status: again\\nnote: %s\\n---\\nBody\\n"\n' "$1" >"$root/script.yaml"
}
"$uwf" workflow put "$root/loop.yaml" >/dev/null
"$uwf" config set agents.mock.command uwf-mock >/dev/null
"$uwf" config set agents.mock.args "[\"$root/script.yaml\"]" >/dev/null
"$uwf" config set defaultAgent mock >/dev/null
thread=$("$uwf" thread start loop -p "go on" --cwd "$root" | sed 's/.*"thread":"\([^"]*\)".*/\1/')
answer one
"$uwf" thread step "$thread" >/dev/null
answer two
valgrind -q --tool=callgrind --demangle=no --callgrind-out-file="$root/calls.%p" "$uwf" thread step "$thread" >/dev/null

# Of a name only that is kept which does not differ from checkout to checkout: not what stands for a crate, not the
# crate that a generic was made for, since one of several that are alike stands for all, and not its last types.
loose='s/Cs[0-9A-Za-z]+_([0-9])/Cs*_\1/g; s/\.[0-9]+$//; s/(Cs\*_.*)Cs\*_[0-9]+[a-z0-9_]+$/\1/; s/^(.{110}).*$/\1/'
sed -nE "s/^c?fn=\([0-9]+\) ([^' ]+)('[0-9]+)?\$/\1/p" "$root"/calls.* | sort -u >"$root/run"
nm -A --defined-only "$(cc -print-file-name=libc.a)" 2>/dev/null |
    sed -nE 's/^[^:]*:([^:]+):[0-9a-f]+ [TtWi] (.*)$/\2 \1/p' | sort -u >"$root/members"
sed -n 's/^    \*/*/p' "$order" >"$root/before"
{
    echo "/* Made by order.sh: what a step runs of ours, and of the C library. */"
    echo "SECTIONS"
    echo "{"
    echo "  .text.step : {"
    {
        cat "$root/before"
        sed -nE "/^_R/{$loose; s/^(.*)\$/*(.text*.\1*)/p}" "$root/run"
        join "$root/run" "$root/members" | sed -E 's/^.* (.*)$/*libc.a:\1(.text .text.*)/'
    } | sort -u | sed 's/^/    /'
    echo "  }"
    echo "}"
    echo "INSERT BEFORE .text;"
} >"$root/order"
mv "$root/order" "$order"
grep -c '(' "$order"
