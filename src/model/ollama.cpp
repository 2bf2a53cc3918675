// SPDX-License-Identifier: MIT
#include "model/ollama.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "hiptool/error.hpp"
#include "model/json_reader.hpp"
#include "model/parts.hpp"
#include "model/text.hpp"
#include "model/unique_keys.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

using Kind = JsonReader::Kind;

constexpr std::string_view model_type = "application/vnd.ollama.image.model";
constexpr std::string_view pull_hint = "fetch the model again with `ollama pull`";
constexpr std::uint64_t most_digest_text_bytes = 4096;

struct Layer {
  std::string type;
  std::string digest;
  std::optional<std::uint64_t> size_bytes;
};

// The string that comes next; empty when something else does.
std::string text_of(JsonReader& json) {
  std::string text;
  if (json.next() == Kind::text) {
    json.read_text(text, most_digest_text_bytes);
  } else {
    json.skip();
  }
  return text;
}

Layer read_layer(JsonReader& json) {
  Layer layer;
  if (json.next() != Kind::object) {
    json.skip();
    return layer;
  }
  json.enter();
  std::string key;
  for (UniqueKeys keys(json); keys.next(key);) {
    if (key == "mediaType") {
      layer.type = text_of(json);
    } else if (key == "digest") {
      layer.digest = text_of(json);
    } else if (key == "size" && json.next() == Kind::number) {
      const JsonReader::Number number = json.read_number();
      if (number.is_whole) layer.size_bytes = number.whole;
    } else {
      json.skip();
    }
  }
  return layer;
}

// The one layer that is the model.
Layer find_layer(const base::File& manifest, const Diagnostics& diagnostics) {
  JsonReader json(manifest, 0, manifest.size_bytes(), diagnostics);
  json.next();
  json.enter();
  std::optional<Layer> model;
  std::string key;
  for (UniqueKeys keys(json); keys.next(key);) {
    if (key != "layers" || json.next() != Kind::array) {
      json.skip();
      continue;
    }
    json.enter();
    while (json.next_element()) {
      Layer layer = read_layer(json);
      if (layer.type != model_type) continue;
      if (model) {
        diagnostics.unreadable_kind({}, "the manifest lists several model layers",
                                    "name the blob of one of them");
      }
      model = std::move(layer);
    }
  }
  json.finish();
  if (!model) {
    diagnostics.unreadable_kind(
        {}, "the manifest lists no layer of type " + std::string(model_type), "name a model file");
  }
  return *model;
}

bool is_digest(std::string_view text) {
  constexpr std::string_view start = "sha256:";
  return text.starts_with(start) && is_sha256(text.substr(start.size()));
}

}  // namespace

fs::path find_ollama_blob(const base::File& manifest, const Diagnostics& diagnostics) {
  const Layer layer = find_layer(manifest, diagnostics);
  // The digest becomes part of a path.
  if (!is_digest(layer.digest)) {
    diagnostics.corrupt({}, "the model layer's digest " + in_quotes(layer.digest) +
                                " is not sha256: and 64 hexadecimal digits");
  }
  const std::string name = "sha256-" + layer.digest.substr(7);
  // models/manifests/HOST/ORGANISATION/NAME/TAG belongs to models/blobs.
  constexpr int most_levels = 6;
  std::error_code error;
  fs::path folder = fs::absolute(manifest.path(), error).parent_path();
  for (int level = 0; level < most_levels; ++level) {
    for (const fs::path& blob : {folder / name, folder / "blobs" / name}) {
      const std::uint64_t size = fs::file_size(blob, error);
      if (error) continue;
      if (layer.size_bytes && size != *layer.size_bytes) {
        diagnostics.corrupt({},
                            "its model blob " + blob.string() + " has " + std::to_string(size) +
                                " bytes, the manifest says " + std::to_string(*layer.size_bytes),
                            pull_hint);
      }
      return blob;
    }
    if (!folder.has_relative_path()) break;
    folder = folder.parent_path();
  }
  diagnostics.unreadable_kind({},
                              "the model blob " + name +
                                  " is neither in the folder of the manifest "
                                  "nor in a folder 'blobs' there or above",
                              pull_hint);
}

}  // namespace hiptool::model
