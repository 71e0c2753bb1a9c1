#!/bin/bash
# build.sh: builds all fuzz targets into $OUT, each with its seeds, as OSS-Fuzz asks for them. It sets CC, CXX, CFLAGS, CXXFLAGS,
# LIB_FUZZING_ENGINE, OUT and WORK. Without it, from the root of the tree:
#
#     OUT=$PWD/build/oss-fuzz WORK=$PWD/build/oss-fuzz-work CC=clang-14 CXX=clang++-14 LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#         CFLAGS="-O1 -g -fsanitize=address,undefined,fuzzer-no-link" CXXFLAGS="$CFLAGS" tests/fuzz/oss-fuzz/build.sh
#
# Names after build.sh are the targets to build, instead of all.
set -eu

mkdir -p "$OUT/lib" "$WORK"
cmake -G Ninja -S . -B "$WORK" -DCMAKE_BUILD_TYPE=None -DLEAT_FUZZ=ON "-DLEAT_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" -DLEAT_PYTHON=OFF -DLEAT_MAN=OFF
[ $# -gt 0 ] || set -- $(cd tests/fuzz && ls */fuzz_*.c | sed 's/.*\///; s/[.]c$//')
cmake --build "$WORK" --target "$@"

# The machines that run the targets have none of the libraries: each target finds its own beside it.
for target in "$@"; do
    cp "$WORK/tests/$target" "$OUT/"
    ldd "$OUT/$target" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt|ld-linux.*)[.]so/ {print $3}' |
        xargs -r cp --no-clobber --target-directory "$OUT/lib"
    patchelf --set-rpath '$ORIGIN/lib' "$OUT/$target"
    corpus=tests/fuzz/corpus/${target#fuzz_}
    [ "$target" != fuzz_tokenizer ] || corpus=tests/tokenizer/data
    [ ! -d "$corpus" ] || zip --quiet --junk-paths --recurse-paths "$OUT/${target}_seed_corpus.zip" "$corpus"
    printf '[libfuzzer]\nrss_limit_mb = 4096\ntimeout = 60\n' >"$OUT/$target.options"
done
for library in "$OUT"/lib/*; do
    patchelf --set-rpath '$ORIGIN' "$library"
done
