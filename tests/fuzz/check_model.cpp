// SPDX-License-Identifier: MIT
#include "check_model.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_summary.hpp"

namespace hiptool::fuzz {
namespace {

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %s\n", rule);
  std::abort();
}

std::optional<ModelFile> open(const std::filesystem::path& path, const ModelOptions& options) {
  try {
    return ModelFile::open(path, options);
  } catch (const Error& error) {
    const std::string message = error.what();
    require(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::input_failed,
            "a refusal is one of a bad file");
    require(message.size() <= 1000, "a message is short");
    require(message.find('\n') == std::string::npos, "a message is one line");
    return std::nullopt;
  }
}

// A text may not lead to files elsewhere, whatever it names.
void check_files(const ModelFile& model) {
  for (const ModelPart& part : model.files()) {
    const std::filesystem::path folder = part.path.parent_path();
    require(folder == model.path().parent_path(), "all files are beside the one that was named");
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

void check_model(const std::filesystem::path& path) {
  const auto opaque = open(path, {false, true});
  // What opaque reading refuses the others do too; most inputs are such, so few are read again.
  static unsigned inputs = 0;
  constexpr unsigned each = 16;
  if (!opaque && ++inputs % each != 0) return;
  const auto usual = open(path, {false, false});
  const auto strict = open(path, {true, false});
  require(!usual || opaque, "opaque reading accepts what the usual one does");
  require(strict.has_value() ? usual.has_value() : true, "strict reading accepts no more");
  if (usual) check_same(*usual, *opaque);
  if (usual && strict) check_same(*usual, *strict);
  if (!opaque) return;
  check_files(*opaque);
  check_tensors(*opaque);
  check_metadata(*opaque);
  check_summary(*opaque);
}

}  // namespace hiptool::fuzz
