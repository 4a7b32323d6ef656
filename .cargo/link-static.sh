#!/bin/sh
# Links the binary `uwf` statically and at a fixed address where the system can: a step starts two processes, and
# the dynamic linker takes a good part of their time (docs/performance.md).
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
