#!/usr/bin/env bash
# Makes of each fuzz target what OSS-Fuzz expects, in $OUT: a program, its seeds (PROGRAM_seed_corpus.zip) and, for targets
# that have one, a dictionary (PROGRAM.dict). tools/fuzz runs the same programs.
#
# CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE are the compilers, their flags and the fuzzing engine. What is built on
# the way is left in $WORK. Libraries that a program needs are in $OUT/lib, as it runs where they are not installed.
set -euo pipefail
source=$(readlink -f "$(dirname "$(readlink -f "$0")")/../../..")

options=(
  -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS"
  # Boost's library is built with libstdc++, so another C++ library would not fit.
  -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="${CXXFLAGS//-stdlib=libc++/}"
  # For the libraries of libraries as well, which new tags would not find.
  -DCMAKE_BUILD_RPATH="\$ORIGIN/lib" -DCMAKE_EXE_LINKER_FLAGS="-Wl,--disable-new-dtags"
  -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$OUT"
  -DSFRAME_GEN_FUZZING_ENGINE="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}"
  -DSFRAME_GEN_SHARED=OFF -DSFRAME_GEN_TESTS=ON -DSFRAME_GEN_TOGETHER=all
)
cmake -S "$source" -B "$WORK" -G Ninja "${options[@]}"
cmake --build "$WORK" --target fuzzers

mkdir -p "$OUT/lib"
for seeds in "$source"/tests/fuzz/seeds/*; do
  target=${seeds##*/}
  program=$OUT/fuzz-$target
  (cd "$seeds" && python3 -m zipfile -c "${program}_seed_corpus.zip" ./*)
  dictionary=$source/tests/fuzz/dictionaries/$target.dict
  [[ ! -e $dictionary ]] || cp "$dictionary" "$program.dict"
  # All but those of the C library, which go with its loader.
  ldd "$program" | awk '$3 ~ "^/" && $1 !~ "^lib(c|m|dl|rt|pthread|resolv)[.]so" { print $3 }' | while read -r library; do
    [[ $library == "$OUT"/* ]] || cp --update "$library" "$OUT/lib"
  done
done
# The target `code` loads it when it runs.
find /usr/lib -name 'libZydis.so.4.?' -exec cp --update {} "$OUT/lib" \;
