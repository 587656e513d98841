#!/bin/bash -eu
# Builds every fuzz target into $OUT, each with its corpus beside it.
cd "$SRC/longrun"
cargo fuzz build -O
for target in $(cargo fuzz list); do
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    zip -q -j -r "$OUT/${target}_seed_corpus.zip" "fuzz/corpus/$target"
done
