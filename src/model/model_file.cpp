// SPDX-License-Identifier: MIT
#include "hiptool/model_file.hpp"

#include <limits>
#include <new>
#include <utility>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"
#include "model/file_kind.hpp"
#include "model/gguf.hpp"
#include "model/reader.hpp"
#include "model/safetensors.hpp"
#include "model/stored_values.hpp"

namespace hiptool {
namespace {

std::shared_ptr<const ModelFile::Contents> parse(const std::filesystem::path& path,
                                                 const ModelOptions& options) {
  const base::File file = base::File::open(path);
  model::Diagnostics diagnostics(path, options.strict);
  auto contents = std::make_shared<ModelFile::Contents>();
  contents->path = path;
  contents->parts.push_back({path, file.size_bytes(), file.modified_ns()});
  contents->format = model::find_format(file, diagnostics);
  switch (contents->format) {
    case ModelFormat::gguf: model::parse_gguf(file, diagnostics, *contents); break;
    case ModelFormat::safetensors: model::parse_safetensors(file, diagnostics, *contents); break;
  }
  file.check_unchanged(file.size_bytes(), file.modified_ns());
  contents->warnings = diagnostics.take_warnings();
  for (const TensorInfo& tensor : contents->tensors) {
    contents->tensor_bytes += tensor.size_bytes;
    contents->parameters += tensor.elements;
  }
  return contents;
}

// The first part as it was when it was parsed.
base::File reopen_first(const ModelFile::Contents& contents) {
  const ModelPart& part = contents.parts.front();
  base::File file = base::File::open(part.path);
  file.check_unchanged(part.size_bytes, part.modified_ns);
  return file;
}

constexpr std::uint64_t most_padding_bytes = 4096;

}  // namespace

std::string_view to_string(ModelFormat format) noexcept {
  return format == ModelFormat::gguf ? "gguf" : "safetensors";
}

ModelFile ModelFile::open(const std::filesystem::path& path, const ModelOptions& options) {
  try {
    return ModelFile(parse(path, options));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::host_out_of_memory, "parse",
                path.string() + ": host memory does not suffice for the header");
  }
}

ModelFormat ModelFile::format() const noexcept { return contents_->format; }
std::uint32_t ModelFile::format_version() const noexcept { return contents_->version; }
const std::filesystem::path& ModelFile::path() const noexcept { return contents_->path; }
std::span<const ModelPart> ModelFile::files() const noexcept { return contents_->parts; }
std::span<const TensorInfo> ModelFile::tensors() const noexcept { return contents_->tensors; }

const TensorInfo* ModelFile::find(std::string_view name) const noexcept {
  return contents_->index.find(contents_->tensors, name);
}

std::uint64_t ModelFile::tensor_bytes() const noexcept { return contents_->tensor_bytes; }
std::uint64_t ModelFile::parameters() const noexcept { return contents_->parameters; }

std::uint64_t ModelFile::file_bytes() const noexcept {
  std::uint64_t size_bytes = 0;
  for (const ModelPart& part : contents_->parts) size_bytes += part.size_bytes;
  return size_bytes;
}

std::vector<ModelExtent> ModelFile::extents() const {
  std::vector<ModelExtent> extents;
  for (const TensorInfo& tensor : contents_->tensors) {
    if (tensor.size_bytes == 0) continue;
    if (!extents.empty() && extents.back().file == tensor.file) {
      ModelExtent& last = extents.back();
      const std::uint64_t last_end = last.file_offset + last.size_bytes;
      if (tensor.file_offset - last_end < most_padding_bytes) {
        last.size_bytes = tensor.file_offset + tensor.size_bytes - last.file_offset;
        continue;
      }
    }
    extents.push_back({tensor.file, tensor.file_offset, tensor.size_bytes});
  }
  return extents;
}

std::vector<MetadataEntry> ModelFile::metadata() const {
  std::vector<MetadataEntry> entries;
  entries.reserve(contents_->metadata.items().size());
  for (const model::MetadataItem& item : contents_->metadata.items()) {
    MetadataEntry entry{item.name, model::type_name(item.type)};
    if (const auto* array = std::get_if<model::StoredArray>(&item.value)) {
      entry.type = model::type_name(array->type);
      entry.is_array = true;
      entry.count = array->count;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<std::string> ModelFile::text(std::string_view key) const {
  const model::Metadata& metadata = contents_->metadata;
  if (const auto* text = metadata.value<std::string>(key)) return *text;
  const auto* stored = metadata.value<model::StoredText>(key);
  if (stored == nullptr) return std::nullopt;
  const base::File file = reopen_first(*contents_);
  model::Reader reader(file);
  reader.skip(stored->file_offset);
  return reader.take_text(stored->size_bytes);
}

std::optional<std::int64_t> ModelFile::integer(std::string_view key) const {
  const model::Metadata& metadata = contents_->metadata;
  if (const auto* value = metadata.value<std::int64_t>(key)) return *value;
  const auto* value = metadata.value<std::uint64_t>(key);
  constexpr auto largest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (value == nullptr || *value > largest) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> ModelFile::real(std::string_view key) const {
  const auto* value = contents_->metadata.value<double>(key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<bool> ModelFile::boolean(std::string_view key) const {
  const auto* value = contents_->metadata.value<bool>(key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::uint64_t> ModelFile::array_size(std::string_view key) const {
  const auto* array = contents_->metadata.value<model::StoredArray>(key);
  return array == nullptr ? std::nullopt : std::optional(array->count);
}

std::optional<std::vector<std::int64_t>> ModelFile::integers(std::string_view key) const {
  const auto* array = contents_->metadata.value<model::StoredArray>(key);
  if (array == nullptr) return std::nullopt;
  return model::read_integers(reopen_first(*contents_), *array);
}

std::optional<std::vector<double>> ModelFile::reals(std::string_view key) const {
  const auto* array = contents_->metadata.value<model::StoredArray>(key);
  if (array == nullptr) return std::nullopt;
  return model::read_reals(reopen_first(*contents_), *array);
}

std::optional<std::vector<bool>> ModelFile::booleans(std::string_view key) const {
  const auto* array = contents_->metadata.value<model::StoredArray>(key);
  if (array == nullptr) return std::nullopt;
  return model::read_booleans(reopen_first(*contents_), *array);
}

std::optional<std::vector<std::string>> ModelFile::texts(std::string_view key, std::uint64_t first,
                                                         std::uint64_t count) const {
  const auto* array = contents_->metadata.value<model::StoredArray>(key);
  if (array == nullptr) return std::nullopt;
  return model::read_texts(reopen_first(*contents_), *array, first, count);
}

std::span<const std::string> ModelFile::warnings() const noexcept { return contents_->warnings; }

}  // namespace hiptool
