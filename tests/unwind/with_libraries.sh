#!/usr/bin/env bash
# To be sourced: the program that is to be run, and what it loads, converted.

# convert_with_libraries SFRAME-GEN PROGRAM OUTPUT [OPTION...]: its libraries come to lie beside OUTPUT. The loader
# itself is not converted: it takes no further segment.
convert_with_libraries() {
    local converter=$1 program=$2 output=$3 libraries name path
    shift 3
    "$converter" -q "$@" -o "$output" "$program"
    libraries=$(ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')
    while read -r name path; do
        "$converter" -q "$@" -o "$(dirname "$output")/$name" "$path"
    done <<<"$libraries"
}
