// SPDX-License-Identifier: MIT
#include "check_model.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"
#include "model/layer_sizes.hpp"

namespace hiptool::fuzz {
namespace {

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %s\n", rule);
  std::abort();
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Three names of files, whose bytes may each be written in four characters.
std::size_t most_bytes_of_names(const std::filesystem::path& path) {
  constexpr std::size_t most_name_bytes = 255;  // NAME_MAX of Linux
  return 3 * 4 * (is_folder(path) ? most_name_bytes : path.filename().string().size());
}

std::optional<ModelFile> open(const std::filesystem::path& path, const ModelOptions& options) {
  try {
    return ModelFile::open(path, options);
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool is_of_file =
        error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::input_failed;
    // A folder may hold several models.
    const bool is_choice = error.code() == ErrorCode::invalid_argument && is_folder(path);
    require(is_of_file || is_choice, "a refusal is one of a bad file");
    require(message.size() <= 1000 + most_bytes_of_names(path), "a message is short");
    require(message.find('\n') == std::string::npos, "a message is one line");
    return std::nullopt;
  }
}

// A text may not lead to files elsewhere, whatever it names.
void check_files(const ModelFile& model, const std::filesystem::path& root) {
  for (const ModelPart& part : model.files()) {
    const std::filesystem::path inside = part.path.lexically_relative(root);
    const bool goes_up = std::find(inside.begin(), inside.end(), "..") != inside.end();
    require(!inside.empty() && !goes_up, "all files are below the folder");
  }
}

void check_tensors(const ModelFile& model) {
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  const TensorInfo* before = nullptr;
  for (const TensorInfo& tensor : model.tensors()) {
    require(tensor.file < model.files().size(), "a tensor is of a file of the model");
    const std::uint64_t file_bytes = model.files()[tensor.file].size_bytes;
    if (before != nullptr && before->file != tensor.file) {
      require(before->file < tensor.file, "tensors are sorted by file");
      end = 0;
    }
    require(tensor.file_offset >= end, "tensors do not overlap");
    require(tensor.file_offset <= file_bytes, "a tensor begins inside its file");
    require(tensor.size_bytes <= file_bytes - tensor.file_offset, "a tensor ends inside its file");
    require(model.find(tensor.name) == &tensor, "a tensor is found by its name");
    const bool is_opaque = tensor.type.block_bits() == 0;
    require(is_opaque || tensor.weights / 8 <= tensor.size_bytes, "a weight has at least a bit");
    end = tensor.file_offset + tensor.size_bytes;
    bytes += tensor.size_bytes;
    before = &tensor;
  }
  require(bytes == model.tensor_bytes(), "the sum of the tensors' bytes is right");
  for (const ModelExtent& extent : model.extents()) {
    const std::uint64_t file_bytes = model.files()[extent.file].size_bytes;
    require(extent.size_bytes <= file_bytes && extent.file_offset <= file_bytes - extent.size_bytes,
            "an extent lies inside its file");
  }
}

// A value is had through the getter of its kind, and what the entry tells of it is true.
void check_metadata(const ModelFile& model) {
  for (const MetadataEntry& entry : model.metadata()) {
    const int scalars =
        int{model.text(entry.key).has_value()} + int{model.integer(entry.key).has_value()} +
        int{model.real(entry.key).has_value()} + int{model.boolean(entry.key).has_value()};
    const auto integers = model.integers(entry.key);
    const auto reals = model.reals(entry.key);
    const auto booleans = model.booleans(entry.key);
    const auto texts = model.texts(entry.key);
    const int arrays = int{integers.has_value()} + int{reals.has_value()} +
                       int{booleans.has_value()} + int{texts.has_value()};
    require(arrays <= (entry.is_array ? 1 : 0), "only an array has elements, of one kind");
    require(scalars <= (entry.is_array ? 0 : 1), "a value is of one kind");
    require(model.array_size(entry.key).has_value() == entry.is_array, "an array has a size");
    require(!integers || integers->size() == entry.count, "all integers are there");
    require(!reals || reals->size() == entry.count, "all reals are there");
    require(!booleans || booleans->size() == entry.count, "all booleans are there");
    require(!texts || texts->size() == entry.count, "all texts are there");
  }
}

// At least what is kept, at most what may be, for each layer; few where the metadata lacks keys.
void check_caches(const ModelSummary& summary) {
  const auto& least = summary.least_caches;
  require(summary.caches.empty() || summary.caches.size() == summary.layers, "layers have caches");
  require(least.size() == (summary.cache_is_bound ? summary.caches.size() : 0), "a bound has ends");
  for (std::size_t layer = 0; layer < least.size(); ++layer) {
    const LayerCache& most = summary.caches[layer];
    require(least[layer].heads <= most.heads && least[layer].key_length <= most.key_length &&
                least[layer].value_length <= most.value_length &&
                least[layer].state_bytes <= most.state_bytes,
            "the lower end of a bound is below the upper one");
  }
}

// Opaque types may only take the place of a refusal.
void check_same(const ModelFile& model, const ModelFile& other) {
  require(model.tensors().size() == other.tensors().size(), "modes see the same tensors");
  for (std::size_t index = 0; index < model.tensors().size(); ++index) {
    const TensorInfo& left = model.tensors()[index];
    const TensorInfo& right = other.tensors()[index];
    require(left.name == right.name && left.file == right.file &&
                left.file_offset == right.file_offset && left.size_bytes == right.size_bytes &&
                left.type.name() == right.type.name(),
            "modes see the same tensors");
  }
}

}  // namespace

void check_summary(const ModelFile& model) {
  constexpr std::uint64_t most_layers = 65'536;  // the header of summarize()
  const ModelSummary summary = summarize(model);
  require(summary.layers.value_or(0) <= most_layers, "layers are believable");
  for (const auto* heads : {&summary.heads, &summary.kv_heads}) {
    const bool is_for_layers =
        !summary.layers || heads->empty() || heads->size() == *summary.layers;
    require(is_for_layers, "there is one number of heads for each layer");
  }
  std::uint64_t tensors = 0;
  for (const TypeShare& share : summary.types) tensors += share.tensors;
  require(tensors == model.tensors().size(), "the shares of types add up");
  std::uint64_t grouped = 0;
  std::uint64_t parameters = 0;
  for (const model::LayerGroup& group : model::group_layers(model)) {
    grouped += group.tensors;
    parameters += group.parameters;
  }
  require(grouped == tensors && parameters == summary.parameters, "groups of layers add up");
  check_caches(summary);
}

void check_model(const Input& input, const std::filesystem::path& path,
                 const std::filesystem::path& root) {
  const auto opaque = open(path, {false, true});
  // What opaque reading refuses the others do too, and most inputs are such.
  constexpr std::size_t each_refused = 16;
  constexpr std::size_t each_accepted = 4;
  if (input.is_turn(opaque ? each_accepted : each_refused)) {
    const auto usual = open(path, {false, false});
    const auto strict = open(path, {true, false});
    require(!usual || opaque, "opaque reading accepts what the usual one does");
    require(strict.has_value() ? usual.has_value() : true, "strict reading accepts no more");
    if (usual) check_same(*usual, *opaque);
    if (usual && strict) check_same(*usual, *strict);
  }
  if (!opaque) return;
  check_files(*opaque, !root.empty() ? root : is_folder(path) ? path : path.parent_path());
  check_tensors(*opaque);
  check_metadata(*opaque);
  check_summary(*opaque);
}

}  // namespace hiptool::fuzz
