#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Plants one fault after the other into a temporary copy of the sources and shows that the fuzz
# target finds each: how many of the seeds hit it, and how soon the fuzzer alone does, without
# these seeds. Exits 1 if one is found in neither way. Needs clang 14.
# Usage: planted.sh [SECONDS [TARGET]]   the time for each fault, 60 unless given
set -euo pipefail
most_seconds=${1:-60}
only=${2:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$top" && git ls-files -z -co --exclude-standard | xargs -0 tar -cf - --) | tar -xf - -C "$work"
cd "$work"
export UBSAN_OPTIONS=halt_on_error=1
CXX=clang++-14 meson setup build --buildtype=plain -Doptimization=1 -Db_lundef=false \
  -Db_sanitize=address,undefined -Dfuzzing=true -Damd_kernels=disabled -Dnvidia_kernels=disabled \
  >/dev/null
missed=0
echo '| target | fault | seeds that hit it | found without them after |'
echo '|---|---|---|---|'

# plant TARGET NAME FILE OLD NEW
plant() {
  local target=$1 name=$2 file=src/model/$3 old=$4 new=$5 hits=0 start seed after
  [ -z "$only" ] || [ "$only" = "$target" ] || return 0
  cp "$file" "$work/original"
  OLD=$old NEW=$new python3 - "$file" <<'END'
import os, pathlib, sys
path = pathlib.Path(sys.argv[1])
text = path.read_text("utf-8")
if text.count(os.environ["OLD"]) != 1:
    sys.exit(f"{path}: the place of the fault is there {text.count(os.environ['OLD'])} times")
path.write_text(text.replace(os.environ["OLD"], os.environ["NEW"]), "utf-8")
END
  ninja -C build "tests/fuzz/${target}_fuzz" >/dev/null
  rm -rf seeds found
  mkdir seeds found
  for seed in tests/fuzz/corpus/"$target"/*; do
    if build/tests/fuzz/"${target}_fuzz" "$seed" >/dev/null 2>&1; then
      cp "$seed" seeds
    else
      hits=$((hits + 1))
    fi
  done
  start=$(date +%s.%N)
  if build/tests/fuzz/"${target}_fuzz" -max_total_time="$most_seconds" -rss_limit_mb=600 \
    -max_len=8192 -dict=tests/fuzz/words.dict -seed=1 -artifact_prefix=found/ seeds \
    >log 2>&1; then
    after="NOT FOUND in $most_seconds s"
    [ "$hits" -gt 0 ] || missed=1
  else
    after="$(python3 -c 'import sys, time; print(f"{time.time() - float(sys.argv[1]):.1f} s")' \
      "$start"), $(grep -oE \
        'broken rule: .*|runtime error: .*|ERROR: AddressSanitizer: [a-zA-Z-]+' log |
        head -n 1 || true)"
  fi
  echo "| $target | $name | $hits | $after |"
  cp "$work/original" "$file"
}

plant gguf 'tensors may overlap' gguf_layout.cpp \
  'if (end <= limit && !is_cut) continue;' 'if (!is_cut) continue;'
plant gguf 'arrays may be nested one deeper than the stack' gguf_metadata.cpp \
  'if (depth == deepest_nesting)' 'if (depth > deepest_nesting)'
plant safetensors 'tensors may overlap' safetensors.cpp \
  'if (range.offset == expected && end <= data_bytes)' 'if (end <= data_bytes)'
plant safetensors 'numbers are read beyond the window' json_reader.cpp \
  "if (end_ - at_ <= most_digits || *at_" "if (*at_"
plant index 'the map names a tensor that is not there' safetensors_set.cpp \
  'if (found == nullptr) {' 'if (found == nullptr && tensor.empty()) {'
plant gguf_set 'shards may have tensors of one name' tensor_layout.cpp \
  'if (other.file == tensor.file)' 'if (other.file != tensor.file) continue; if (true)'
plant summary 'a list of fewer layers than there are' config_caches.cpp \
  'if (facts_.kinds.empty() || facts_.kinds.size() == layers_) return;' 'if (layers_ > 0) return;'
plant summary 'heads for another number of layers' model_summary.cpp \
  'values.size() == *summary.layers)' 'values.size() > 1)'
plant packed 'rows of codes without elements' packed_weights.cpp \
  'books != nullptr && last(tensor) > 0' 'books != nullptr'
plant packed 'words with more weights than bits' packed_weights.cpp \
  'if (weights && *weights / 8 <= tensor.size_bytes)' 'if (weights)'
plant hash_list 'any text is a SHA-256' published_hash.cpp \
  'return is_sha256(digits) ?' 'return !digits.empty() ?'
plant folder 'an index may name files elsewhere' safetensors_set.cpp \
  'name == "." || name == ".."' 'name == "."'
plant folder 'attributes of macOS are models' folder.cpp \
  '} else if (is_apple_double(name)) {' '} else if (name == "._") {'
exit $missed
