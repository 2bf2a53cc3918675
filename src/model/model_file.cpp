// SPDX-License-Identifier: MIT
#include "hiptool/model_file.hpp"

#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/contents.hpp"
#include "model/cut_file.hpp"
#include "model/diagnostics.hpp"
#include "model/file_kind.hpp"
#include "model/folder.hpp"
#include "model/gguf.hpp"
#include "model/json_kind.hpp"
#include "model/json_reader.hpp"
#include "model/model_kind.hpp"
#include "model/ollama.hpp"
#include "model/packed_weights.hpp"
#include "model/parts.hpp"
#include "model/safetensors.hpp"
#include "model/unfinished.hpp"

namespace hiptool {
namespace {

void parse_file(const std::filesystem::path& path, bool may_be_json, const ModelOptions& options,
                model::Diagnostics& diagnostics, model::Contents& contents);

// A JSON file names the files of the model.
void parse_json(const base::File& file, const ModelOptions& options,
                model::Diagnostics& diagnostics, model::Contents& contents) {
  const std::filesystem::path path = file.path();
  diagnostics.move_to(path, "offset");
  if (model::has_member(file, "weight_map", diagnostics)) {
    contents.format = ModelFormat::safetensors;
    model::parse_safetensors_index(path, options.opaque, diagnostics, contents);
  } else if (model::has_member(file, "layers", diagnostics)) {
    parse_file(model::find_ollama_blob(file, diagnostics), false, options, diagnostics, contents);
  } else {
    model::refuse_json(file, diagnostics);
  }
}

// JSON is followed once: the blob of a manifest must be a model.
void parse_file(const std::filesystem::path& path, bool may_be_json, const ModelOptions& options,
                model::Diagnostics& diagnostics, model::Contents& contents) {
  const base::File file = base::File::open(path);
  diagnostics.move_to(path);
  switch (model::find_kind(file, diagnostics)) {
    case model::FileKind::gguf:
      contents.format = ModelFormat::gguf;
      model::parse_gguf_model(path, options.opaque, diagnostics, contents);
      break;
    case model::FileKind::safetensors:
      contents.format = ModelFormat::safetensors;
      model::parse_safetensors_model(path, options.opaque, diagnostics, contents);
      break;
    case model::FileKind::json:
      if (!may_be_json) {
        diagnostics.unreadable_kind({}, "the file is JSON text, not a model", "name a model file");
      }
      parse_json(file, options, diagnostics, contents);
      break;
  }
}

// A file of full length may be the allocation of a download that goes on or was given up.
void note_unfinished(const model::Contents& contents, model::Diagnostics& diagnostics) {
  std::uint64_t found = 0;
  std::string note;
  std::filesystem::path first;
  for (const ModelPart& part : contents.parts) {
    std::string text = model::unfinished_note(part.path);
    if (text.empty() || found++ > 0) continue;
    note = std::move(text);
    first = part.path;
  }
  if (found == 0) return;
  if (found > 1) note += " (and " + base::count_of(found - 1, "other file") + " alike)";
  diagnostics.move_to(first);
  diagnostics.note(note);
}

std::shared_ptr<const model::Contents> parse(const std::filesystem::path& path,
                                             const ModelOptions& options) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const model::FolderModel found =
      is_folder ? model::find_model_in_folder(path) : model::FolderModel{path, {}};
  const std::filesystem::path& file = found.file;
  model::Diagnostics diagnostics(file, options.strict);
  auto contents = std::make_shared<model::Contents>();
  if (const auto reason = model::why_missing(file); reason && *reason != "it is missing") {
    model::check_present({file}, "the model");
  }
  try {
    parse_file(file, true, options, diagnostics, *contents);
  } catch (const Error& error) {
    const auto piece = model::parse_piece_name(file.filename().string());
    if (piece && base::is_there(file)) model::refuse_piece(file, file.parent_path(), *piece);
    throw;
  }
  contents->path = path;
  if (!contents->folder) contents->folder = contents->parts.front().path.parent_path();
  note_unfinished(*contents, diagnostics);
  for (const std::string& note : model::passed_over_notes(found, contents->parts)) {
    diagnostics.move_to(path);
    diagnostics.note(note);
  }
  contents->warnings = diagnostics.take_warnings();
  for (const TensorInfo& tensor : contents->tensors) contents->tensor_bytes += tensor.size_bytes;
  contents->kind = model::find_model_kind(*contents);
  model::count_weights(*contents);
  for (const TensorInfo& tensor : contents->tensors) contents->parameters += tensor.weights;
  return contents;
}

// The first part as it was when it was parsed.
constexpr std::uint64_t most_padding_bytes = 4096;

// The array of that key, read by that function; absent when the value is not an array.
template <typename Read>
auto read_array(const model::Contents& contents, std::string_view key, Read&& read)
    -> decltype(read(std::declval<const base::File&>(),
                     std::declval<const model::StoredArray&>())) {
  const auto* array = contents.metadata.value<model::StoredArray>(key);
  if (array == nullptr) return std::nullopt;
  const base::File file = model::open_unchanged(contents.parts.front());
  try {
    return read(file, *array);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::host_out_of_memory, "read",
                file.path().string() + ": host memory does not suffice for the " +
                    base::plain_count_of(array->count, "element") + " of " + std::string(key));
  }
}

}  // namespace

std::string_view to_string(ModelFormat format) noexcept {
  return format == ModelFormat::gguf ? "gguf" : "safetensors";
}

ModelFile ModelFile::open(const std::filesystem::path& path, const ModelOptions& options) {
  try {
    return ModelFile(parse(path, options));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::host_out_of_memory, "parse",
                path.string() + ": host memory does not suffice for the header")
        .about(path.string());
  } catch (const Error& error) {
    if (!error.object().empty()) throw;
    throw error.about(path.string());
  }
}

ModelFile::ModelFile(std::shared_ptr<const model::Contents> contents)
    : contents_(std::move(contents)) {}

ModelFormat ModelFile::format() const noexcept { return contents_->format; }
ModelKind ModelFile::kind() const noexcept { return contents_->kind; }
std::uint32_t ModelFile::format_version() const noexcept { return contents_->version; }
const std::filesystem::path& ModelFile::path() const noexcept { return contents_->path; }
const std::filesystem::path& ModelFile::folder() const noexcept { return *contents_->folder; }
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
  return model::read_text(model::open_unchanged(contents_->parts.front()), *stored);
}

std::optional<std::int64_t> ModelFile::integer(std::string_view key) const {
  const model::Metadata& metadata = contents_->metadata;
  if (const auto* value = metadata.value<std::int64_t>(key)) return *value;
  const auto* value = metadata.value<std::uint64_t>(key);
  constexpr auto largest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (value == nullptr || *value > largest) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::uint64_t> ModelFile::unsigned_integer(std::string_view key) const {
  const model::Metadata& metadata = contents_->metadata;
  if (const auto* value = metadata.value<std::uint64_t>(key)) return *value;
  const auto* value = metadata.value<std::int64_t>(key);
  if (value == nullptr || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
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

std::optional<std::vector<std::int64_t>> ModelFile::integers(std::string_view key,
                                                             std::uint64_t first,
                                                             std::uint64_t count) const {
  return read_array(*contents_, key, [&](const base::File& file, const model::StoredArray& array) {
    return model::read_integers(file, array, first, count);
  });
}

std::optional<std::vector<std::uint64_t>> ModelFile::unsigned_integers(std::string_view key,
                                                                       std::uint64_t first,
                                                                       std::uint64_t count) const {
  return read_array(*contents_, key, [&](const base::File& file, const model::StoredArray& array) {
    return model::read_unsigned_integers(file, array, first, count);
  });
}

std::optional<std::vector<double>> ModelFile::reals(std::string_view key, std::uint64_t first,
                                                    std::uint64_t count) const {
  return read_array(*contents_, key, [&](const base::File& file, const model::StoredArray& array) {
    return model::read_reals(file, array, first, count);
  });
}

std::optional<std::vector<bool>> ModelFile::booleans(std::string_view key, std::uint64_t first,
                                                     std::uint64_t count) const {
  return read_array(*contents_, key, [&](const base::File& file, const model::StoredArray& array) {
    return model::read_booleans(file, array, first, count);
  });
}

std::optional<std::vector<std::string>> ModelFile::texts(std::string_view key, std::uint64_t first,
                                                         std::uint64_t count) const {
  return read_array(*contents_, key, [&](const base::File& file, const model::StoredArray& array) {
    return model::read_texts(file, array, first, count);
  });
}

std::span<const std::string> ModelFile::warnings() const noexcept { return contents_->warnings; }

}  // namespace hiptool
