#!/bin/sh
# Links the binary `uwf` statically and at a fixed address where the system can: the dynamic linker would take a good
# part of the time in which a process starts (docs/performance.md).
#
# Cargo calls this with the compiler and its arguments, for our own crates only. Flags for all crates would not do:
# procedural macros must stay shared objects.
rustc=$1
shift
case " $* " in
*" --crate-name uwf "*" --crate-type bin "*)
    libc=$(cc -print-file-name=libc.a 2>/dev/null)
    case "$(uname -s) $libc" in
    "Linux /"*) set -- "$@" -C target-feature=+crt-static -C relocation-model=static ;;
    esac
    ;;
esac
exec "$rustc" "$@"
