#!/bin/sh
# Links the binary `uwf` statically and at a fixed address where the system can, and in a release build puts the
# functions of a step side by side: starting a process and mapping its code takes a good part of a step's time
# (docs/performance.md).
#
# Cargo calls this with the compiler and its arguments, for our own crates only. Flags for all crates would not do:
# procedural macros must stay shared objects.
here=$(dirname "$0")
rustc=$1
shift
case " $* " in
*" --crate-name uwf "*" --crate-type bin "*)
    libc=$(cc -print-file-name=libc.a 2>/dev/null)
    case "$(uname -s) $libc" in
    "Linux /"*) set -- "$@" -C target-feature=+crt-static -C relocation-model=static ;;
    esac
    case "$(uname -s) $*" in
    "Linux "*" -C opt-level="*) set -- "$@" -C "link-arg=-Wl,-T,$here/order.ld" ;;
    esac
    ;;
esac
exec "$rustc" "$@"
