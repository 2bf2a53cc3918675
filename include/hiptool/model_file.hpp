// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/element_type.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

enum class ModelFormat { gguf, safetensors };

/// "gguf" or "safetensors".
HIPTOOL_API std::string_view to_string(ModelFormat format) noexcept;

/// A tensor as its file describes it. Every range was checked against the file's size.
struct TensorInfo {
  std::string name;
  ElementType type;
  std::vector<std::uint64_t> shape;  ///< dims as the file writes them (GGUF: fastest first)
  std::uint32_t file = 0;            ///< index into ModelFile::files()
  std::uint64_t file_offset = 0;     ///< absolute, bytes from the start of that file
  std::uint64_t size_bytes = 0;
  std::uint64_t elements = 0;  ///< product of the shape
};

/// One file of a model.
struct ModelPart {
  std::filesystem::path path;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;  ///< to notice that the file changed while it was read
};

struct ModelOptions {
  bool strict = false;  ///< what the specifications forbid but readers accept becomes an error
};

/// A parsed model file. Parsing reads headers with pread into owned memory, never maps the file and
/// never reads tensor data; every count and size is checked against the bytes that remain before
/// anything is allocated. The content decides the format, not the file's name.
///
/// Formats: GGUF 2 and 3 (ggml's gguf.md), safetensors (its README and reference reader).
class HIPTOOL_API ModelFile {
 public:
  /// Throws Error(input_failed) when the file cannot be opened or read or is of a kind that is not
  /// read (old or big-endian GGUF, a shard, an unknown tensor type), and Error(corrupt_data) with
  /// file, offset and field when it breaks its format.
  static ModelFile open(const std::filesystem::path& path, const ModelOptions& options = {});

  ModelFormat format() const noexcept;
  std::uint32_t format_version() const noexcept;  ///< GGUF: 2 or 3; safetensors: 1
  const std::filesystem::path& path() const noexcept;
  std::span<const ModelPart> files() const noexcept;
  /// In the order of file and file offset.
  std::span<const TensorInfo> tensors() const noexcept;
  /// The tensor of that name, or null.
  const TensorInfo* find(std::string_view name) const noexcept;

  std::uint64_t tensor_bytes() const noexcept;  ///< sum over the tensors, without padding
  std::uint64_t parameters() const noexcept;    ///< sum of elements
  std::uint64_t file_bytes() const noexcept;    ///< sum of the files' sizes

  /// A metadata value, absent when the key is not there or of another type. Integers of any width
  /// are accepted for integer(); safetensors metadata is all text.
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  /// Number of elements of an array value.
  std::optional<std::uint64_t> array_size(std::string_view key) const;

  /// What the file's specification forbids but its readers accept, one sentence each.
  std::span<const std::string> warnings() const noexcept;

  struct Contents;
  explicit ModelFile(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

 private:
  std::shared_ptr<const Contents> contents_;
};

}  // namespace hiptool
