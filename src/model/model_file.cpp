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

namespace hiptool {
namespace {

std::shared_ptr<const ModelFile::Contents> parse(const std::filesystem::path& path,
                                                 const ModelOptions& options) {
  const base::File file = base::File::open(path);
  model::Diagnostics diagnostics(path, options.strict);
  auto contents = std::make_shared<ModelFile::Contents>();
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

// The value of the key when it is of that type, or null.
template <typename Wanted>
const Wanted* find_value(const ModelFile::Contents& contents, std::string_view key) {
  const auto found = contents.metadata.find(std::string(key));
  return found == contents.metadata.end() ? nullptr : std::get_if<Wanted>(&found->second);
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
                path.string() + ": host memory does not suffice for the header");
  }
}

ModelFormat ModelFile::format() const noexcept { return contents_->format; }
std::uint32_t ModelFile::format_version() const noexcept { return contents_->version; }
const std::filesystem::path& ModelFile::path() const noexcept {
  return contents_->parts.front().path;
}
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

std::optional<std::string> ModelFile::text(std::string_view key) const {
  if (const auto* text = find_value<std::string>(*contents_, key)) return *text;
  const auto* stored = find_value<model::StoredText>(*contents_, key);
  if (stored == nullptr) return std::nullopt;
  const ModelPart& part = contents_->parts.front();
  const base::File file = base::File::open(part.path);
  file.check_unchanged(part.size_bytes, part.modified_ns);
  model::Reader reader(file);
  reader.skip(stored->file_offset);
  return reader.take_text(stored->size_bytes);
}

std::optional<std::int64_t> ModelFile::integer(std::string_view key) const {
  if (const auto* value = find_value<std::int64_t>(*contents_, key)) return *value;
  const auto* value = find_value<std::uint64_t>(*contents_, key);
  constexpr auto largest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (value == nullptr || *value > largest) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> ModelFile::real(std::string_view key) const {
  const auto* value = find_value<double>(*contents_, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<bool> ModelFile::boolean(std::string_view key) const {
  const auto* value = find_value<bool>(*contents_, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::uint64_t> ModelFile::array_size(std::string_view key) const {
  const auto* value = find_value<model::StoredArray>(*contents_, key);
  return value == nullptr ? std::nullopt : std::optional(value->count);
}

std::span<const std::string> ModelFile::warnings() const noexcept { return contents_->warnings; }

}  // namespace hiptool
