// SPDX-License-Identifier: MIT
#include "model/ollama.hpp"

#include <array>
#include <span>
#include <system_error>
#include <utility>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/json_reader.hpp"
#include "model/parts.hpp"
#include "model/text.hpp"
#include "model/unique_keys.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

using Kind = JsonReader::Kind;

constexpr std::string_view pull_hint =
    "fetch the model again with `ollama pull` or `docker model pull`";
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

constexpr std::array<std::string_view, 5> model_types{
    "application/vnd.ollama.image.model",        "application/vnd.docker.ai.gguf.v3",
    "application/vnd.docker.ai.safetensors",     "application/vnd.cncf.model.weight.v1.raw",
    "application/vnd.cncf.model.weight.v1.gguf",
};
constexpr std::array<std::string_view, 2> license_types{"application/vnd.ollama.image.license",
                                                        "application/vnd.docker.ai.license"};

// The first layer of one of those types, absent where there is none; of models the only one.
std::optional<Layer> find_layer_of(std::span<const std::string_view> types,
                                   const base::File& manifest, const Diagnostics& diagnostics) {
  JsonReader json(manifest, 0, manifest.size_bytes(), diagnostics);
  if (json.next() != Kind::object) return std::nullopt;
  json.enter();
  std::optional<Layer> found;
  std::string key;
  for (UniqueKeys keys(json); keys.next(key);) {
    if (key != "layers" || json.next() != Kind::array) {
      json.skip();
      continue;
    }
    json.enter();
    while (json.next_element()) {
      Layer layer = read_layer(json);
      if (!base::contains(types, layer.type)) continue;
      if (found && types.data() == model_types.data()) {
        diagnostics.unreadable_kind({}, "the manifest lists several model layers",
                                    "name the blob of one of them");
      }
      if (!found) found = std::move(layer);
    }
  }
  json.finish();
  return found;
}

Layer find_model_layer(const base::File& manifest, const Diagnostics& diagnostics) {
  auto model = find_layer_of(model_types, manifest, diagnostics);
  if (!model) {
    diagnostics.unreadable_kind({},
                                "the manifest lists no layer of a type of models, such as " +
                                    std::string(model_types.front()) + " or " +
                                    std::string(model_types[1]),
                                "name a model file");
  }
  return std::move(*model);
}

bool is_digest(std::string_view text) {
  constexpr std::string_view start = "sha256:";
  return text.starts_with(start) && is_sha256(text.substr(start.size()));
}

// The blob of that digest, which is checked to be one, if it is there.
std::optional<fs::path> find_blob(const fs::path& manifest, const std::string& digest) {
  const std::string hex = digest.substr(7);
  const std::string name = "sha256-" + hex;
  // models/manifests/HOST/ORGANISATION/NAME/TAG belongs to models/blobs; of Docker Model Runner
  // models/manifests/sha256/HEX to models/blobs/sha256.
  constexpr int most_levels = 6;
  std::error_code error;
  fs::path folder = fs::absolute(manifest, error).parent_path();
  for (int level = 0; level < most_levels; ++level) {
    for (const fs::path& blob :
         {folder / name, folder / "blobs" / name, folder / "blobs" / "sha256" / hex}) {
      if (fs::is_regular_file(blob, error)) return blob;
    }
    if (!folder.has_relative_path()) break;
    folder = folder.parent_path();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_ollama_license(const fs::path& manifest) {
  try {
    const base::File file = base::File::open(manifest);
    const Diagnostics diagnostics(manifest, false);
    const auto layer = find_layer_of(license_types, file, diagnostics);
    if (!layer || !is_digest(layer->digest)) return std::nullopt;
    const auto blob = find_blob(manifest, layer->digest);
    return blob ? std::optional(base::read_small_file(*blob)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // the model's own blob was found in it, or it is not a manifest
  }
}

fs::path find_ollama_blob(const base::File& manifest, const Diagnostics& diagnostics) {
  const Layer layer = find_model_layer(manifest, diagnostics);
  // The digest becomes part of a path.
  if (!is_digest(layer.digest)) {
    diagnostics.corrupt({}, "the model layer's digest " + in_quotes(layer.digest) +
                                " is not sha256: and 64 hexadecimal digits");
  }
  if (const auto blob = find_blob(manifest.path(), layer.digest)) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(*blob, error);
    if (!error && layer.size_bytes && size != *layer.size_bytes) {
      diagnostics.corrupt({},
                          "its model blob " + blob->string() + " has " +
                              base::plain_count_of(size, "byte") + ", the manifest says " +
                              std::to_string(*layer.size_bytes),
                          pull_hint);
    }
    return *blob;
  }
  diagnostics.unreadable_kind({},
                              "the model blob sha256-" + layer.digest.substr(7) +
                                  " is neither in the folder of the manifest "
                                  "nor in a folder 'blobs' there or above",
                              pull_hint);
}

}  // namespace hiptool::model
