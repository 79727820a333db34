#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds every target into $OUT, with its dictionary, its seeds, and the libraries that it needs.
cd "$SRC/imgstat"
cmake -S . -B build/oss-fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIMGSTAT_TESTS=ON -DIMGSTAT_FUZZ=ON \
    -DIMGSTAT_CUDA=OFF -DIMGSTAT_MPI=OFF -DIMGSTAT_FUZZ_ENGINE="$LIB_FUZZING_ENGINE"
targets=$(basename -s .c tests/fuzz/fuzz_*.c)
# shellcheck disable=SC2086 # words
cmake --build build/oss-fuzz --target $targets
mkdir -p "$OUT/lib"
for name in $targets; do
    cp "build/oss-fuzz/tests/$name" "$OUT/"
    ldd "$OUT/$name" | awk '/=> \/usr\/lib|=> \/lib/ { print $3 }' | grep -vE '/(libc|libm|libpthread|libdl|ld-linux)[.-]' |
        xargs -r cp -n -t "$OUT/lib"
    # shellcheck disable=SC2016 # as the loader has it
    patchelf --set-rpath '$ORIGIN/lib' "$OUT/$name"
    zip -qj "$OUT/${name}_seed_corpus.zip" testdata/*.png testdata/*.tif tests/fuzz/seeds/*
    dictionary=${name#fuzz_}
    dictionary=tests/fuzz/${dictionary%_transform}.dict
    [ ! -e "$dictionary" ] || cp "$dictionary" "$OUT/$name.dict"
done
