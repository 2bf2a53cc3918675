// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/export.hpp"

namespace hiptool {

namespace model {
struct Contents;
}

/// How a model file stores the elements of a tensor: what it calls the type, and how many elements
/// share a block of how many bytes. This is a file's type, apart from the types that kernels
/// compute with. A cheap value that points into a constant table, or, of an unknown type, which
/// ModelOptions::opaque lets pass, shares what it points to, and may outlive its ModelFile.
class HIPTOOL_API ElementType {
 public:
  struct Entry {
    std::string_view name;         ///< the format's own name: "Q4_K", "BF16", "F8_E4M3"
    std::uint32_t block_elements;  ///< elements in a block, 1 for plain types
    std::uint32_t block_bits;      ///< bits of a block; 8 x bytes except for F6 and F4; 0: unknown
    friend constexpr bool operator==(const Entry&, const Entry&) = default;
  };

  // A move copies, so that objects which were moved from still name their type.
  ElementType(const ElementType&) = default;
  ElementType& operator=(const ElementType&) = default;

  /// The entry must outlive this and all copies.
  explicit ElementType(const Entry& entry) noexcept : entry_(std::shared_ptr<void>(), &entry) {}
  explicit ElementType(Entry&&) = delete;

  /// Valid as long as this or a copy, such as the tensor's.
  [[nodiscard]] std::string_view name() const noexcept { return entry_->name; }
  [[nodiscard]] std::uint32_t block_elements() const noexcept { return entry_->block_elements; }
  [[nodiscard]] std::uint32_t block_bits() const noexcept { return entry_->block_bits; }

  friend bool operator==(const ElementType& left, const ElementType& right) noexcept {
    return *left.entry_ == *right.entry_;
  }

 private:
  friend struct model::Contents;
  explicit ElementType(std::shared_ptr<const Entry> entry) noexcept : entry_(std::move(entry)) {}
  std::shared_ptr<const Entry> entry_;
};

enum class ModelFormat { gguf, safetensors };

/// "gguf" or "safetensors".
[[nodiscard]] HIPTOOL_API std::string_view to_string(ModelFormat format) noexcept;

/// What a file is: a model, or one that accompanies a model. Those load as files of tensors do, but
/// nothing can be computed with them alone.
enum class ModelKind { model, adapter, control_vector, imatrix, projector, vocabulary, draft };

/// "model", "adapter", "control-vector" and so on.
[[nodiscard]] HIPTOOL_API std::string_view to_string(ModelKind kind) noexcept;

/// A tensor as its file describes it. Every range was checked against the file's size.
struct TensorInfo {
  std::string name;
  ElementType type;
  std::vector<std::uint64_t> shape;  ///< dims as the file writes them (GGUF: fastest first)
  std::uint32_t file = 0;            ///< index into ModelFile::files()
  std::uint64_t file_offset = 0;     ///< absolute, bytes from the start of that file
  std::uint64_t size_bytes = 0;
  std::uint64_t elements = 0;  ///< product of the shape
  /// Parameters of the model that it holds: its elements; of packed weights (AWQ, GPTQ, NVFP4, MLX,
  /// ...) how many were packed; 0 for the scales and other tables of quantised safetensors.
  std::uint64_t weights = 0;
};

/// One file of a model.
struct ModelPart {
  std::filesystem::path path;  ///< as it was found; links are not resolved
  std::uint64_t size_bytes = 0;
  /// mtime and ctime when its header was read, in nanoseconds since 1970. Programs may set mtime
  /// back; only the system sets ctime.
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  /// The SHA-256 of the whole file in 64 hexadecimal digits, where a name publishes it: the blob
  /// that a link of a Hugging Face snapshot leads to, or an Ollama blob. Nothing was compared yet.
  std::optional<std::string> published_sha256 = {};
};

/// Bytes of one file that hold tensors, without the headers.
struct ModelExtent {
  std::uint32_t file = 0;  ///< index into ModelFile::files()
  std::uint64_t file_offset = 0;
  std::uint64_t size_bytes = 0;
  friend bool operator==(const ModelExtent&, const ModelExtent&) = default;
};

/// What is known of a metadata value without its contents.
struct MetadataEntry {
  std::string key;
  std::string_view type;  ///< GGUF's name: "u32", "f32", "bool", "string"; of an array's elements
  bool is_array = false;
  std::uint64_t count = 1;  ///< elements of an array
};

struct ModelOptions {
  bool strict = false;  ///< what the specifications forbid but readers accept becomes an error
  /// Tensors of unknown type are taken as plain bytes, from their offset to the next tensor's
  /// or the end of the data. Such a type is called "opaque(N)" and has 0 bits a block.
  bool opaque = false;
};

/// A parsed model of one or more files. Parsing reads headers with pread into owned memory, never
/// maps a file and never reads tensor data; every count and size is checked against the bytes that
/// remain before anything is allocated. The content decides the format, not the file's name.
///
/// Formats: GGUF 2 and 3 (ggml's gguf.md) and sets of them (llama.cpp's gguf-split), safetensors
/// (its README and reference reader) and sets with an index.
class HIPTOOL_API ModelFile {
 public:
  // A move copies, so that a moved-from ModelFile can be used on. Copies share what was read.
  ModelFile(const ModelFile&) = default;
  ModelFile& operator=(const ModelFile&) = default;

  /// Blocks while headers are read. The path may be
  ///  - a model file, whatever its name;
  ///  - any shard of a split GGUF, or a safetensors shard in the folder of its index: the set;
  ///  - the index (model.safetensors.index.json) of a safetensors set;
  ///  - a folder with one model, a snapshot of the Hugging Face cache, or the cache's folder
  ///    models--ORGANISATION--NAME, meaning the snapshot of its `main`;
  ///  - a manifest or a blob of Ollama's or Docker Model Runner's.
  ///
  /// Throws Error(input_failed) when a file is missing, cannot be read or is of a kind that is not
  /// read (old or big-endian GGUF, an unknown tensor type), or a folder holds no model;
  /// Error(invalid_argument) when a folder holds several and none is preferred (safetensors before
  /// GGUF, a model before what accompanies it; warnings() then names the others);
  /// Error(corrupt_data) with file, offset and field when a file breaks its format or the
  /// files of a set contradict each other; Error(host_out_of_memory).
  [[nodiscard]] static ModelFile open(const std::filesystem::path& path,
                                      const ModelOptions& options = {});

  [[nodiscard]] ModelFormat format() const noexcept;
  [[nodiscard]] ModelKind kind() const noexcept;
  [[nodiscard]] std::uint32_t format_version() const noexcept;  ///< GGUF: 2 or 3; safetensors: 1
  /// The path given to open(); files() lists the files that it names.
  [[nodiscard]] const std::filesystem::path& path() const noexcept;
  /// The folder of the model's configuration: the index's, else the first file's.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept;
  /// The files that hold tensors, shards in their order. An index is not among them.
  [[nodiscard]] std::span<const ModelPart> files() const noexcept;
  /// In the order of file and file offset.
  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept;
  /// The tensor of that name, or null.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const noexcept;
  /// Where tensors are, sorted by file and offset. Neighbours with less than 4096 bytes (padding)
  /// between them are one extent.
  [[nodiscard]] std::vector<ModelExtent> extents() const;

  [[nodiscard]] std::uint64_t tensor_bytes()
      const noexcept;  ///< sum over the tensors, without padding
  /// Sum of the tensors' weights: the number that a model card states.
  [[nodiscard]] std::uint64_t parameters() const noexcept;
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;  ///< sum of the files' sizes

  /// The metadata in the order of the file: of a set the first file's, to which the other
  /// files and the index of a safetensors set add keys that it lacks.
  [[nodiscard]] std::vector<MetadataEntry> metadata() const;

  /// A metadata value, absent when the key is not there or of another type. Integers of any width
  /// are accepted for integer(); safetensors metadata is all text. A text above 1 MiB is read from
  /// the file, which throws Error(input_failed) if that changed meanwhile.
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  /// An integer from 0 on, also above 2^63 - 1.
  [[nodiscard]] std::optional<std::uint64_t> unsigned_integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> real(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;

  /// Number of elements of an array value.
  [[nodiscard]] std::optional<std::uint64_t> array_size(std::string_view key) const;
  /// The elements of an array, read from the file now: at most `count` from the one at `first` (0
  /// is the array's first), fewer, or none, where the array ends. Absent when the key is not there
  /// or not an array of such elements (of those read, an integer above 2^63 - 1 counts as another
  /// type for integers(), a negative one for unsigned_integers()). Throws Error(input_failed) if
  /// the file cannot be read or changed since it was parsed and Error(host_out_of_memory);
  /// array_size() says beforehand how many there are.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(
      std::string_view key, std::uint64_t first = 0, std::uint64_t count = UINT64_MAX) const;
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> unsigned_integers(
      std::string_view key, std::uint64_t first = 0, std::uint64_t count = UINT64_MAX) const;
  [[nodiscard]] std::optional<std::vector<double>> reals(std::string_view key,
                                                         std::uint64_t first = 0,
                                                         std::uint64_t count = UINT64_MAX) const;
  [[nodiscard]] std::optional<std::vector<bool>> booleans(std::string_view key,
                                                          std::uint64_t first = 0,
                                                          std::uint64_t count = UINT64_MAX) const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts(
      std::string_view key, std::uint64_t first = 0, std::uint64_t count = UINT64_MAX) const;

  /// What the files' specification forbids but its readers accept, and what else should be known,
  /// one sentence each.
  [[nodiscard]] std::span<const std::string> warnings() const noexcept;

 private:
  explicit ModelFile(std::shared_ptr<const model::Contents> contents);
  std::shared_ptr<const model::Contents> contents_;
};

}  // namespace hiptool
