// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"
#include "load/read/second_reader.hpp"

namespace hiptool::load {

/// Hashes that other programs compute too.
enum class HashKind { sha256, xxh64, xxh3 };

/// "sha256", "xxh64", "xxh3" (XXH3-64), as llama-gguf-hash calls them.
std::string_view to_string(HashKind kind) noexcept;
std::optional<HashKind> hash_kind_from_name(std::string_view name) noexcept;
/// Hexadecimal digits of such a hash.
std::size_t digits_of(HashKind kind) noexcept;

/// Hashes of a model's tensors and metadata, computed by separate threads that read the files
/// again. A hash cannot be split, so one core computes the hash of a tensor. The model must outlive
/// it.
class FileHashes {
 public:
  struct Options {
    std::optional<HashKind> tensors;  ///< of each tensor...
    bool with_chains = true;          ///< ...and of the tensors of each file, concatenated
    bool with_metadata = false;  ///< of all bytes of each file that belong to no tensor, in order
    const CancelToken* cancel = nullptr;  ///< must outlive this object
    Timeline* timeline = nullptr;  ///< gets a track for each thread; must outlive this object
  };
  /// All bytes of a file outside its tensors: header, padding and the rest after the last tensor.
  struct Metadata {
    std::uint64_t bytes = 0;
    std::string xxh3;
    std::string sha256;
  };
  /// In lower-case hexadecimal digits; empty: not requested.
  struct Hashes {
    std::vector<std::string> chains;   ///< by index of ModelFile::files(), tensors by their offsets
    std::vector<std::string> tensors;  ///< by index of ModelFile::tensors()
    /// Our digests of the buffers that the hashes of tensors were computed from, by the same index:
    /// if the bytes on a device have these digests, they have those hashes.
    std::vector<std::uint64_t> tensor_digests;
    std::vector<Metadata> metadata;  ///< by index of ModelFile::files()
  };

  /// Opens the files and starts at once. Throws Error(input_failed) if a file cannot be opened or
  /// has changed since it was parsed, Error(host_out_of_memory) if no thread can be started.
  FileHashes(const ModelFile& model, Options options);

  /// False if they are not complete after that time.
  bool wait_for(std::chrono::milliseconds time) const { return reader_.wait_for(time); }
  /// Waits. Throws Error(input_failed) where a file could not be read or was changed, truncated or
  /// replaced meanwhile, Error(cancelled) by the token.
  const Hashes& get();

  SecondReader::Statistics statistics() const { return reader_.statistics(); }

 private:
  enum class JobKind { chain, tensor, metadata };
  struct Job {
    JobKind kind;
    std::uint32_t index;
    std::uint64_t size_bytes;
  };

  void plan();
  void do_job(const Job& job, std::span<std::byte> buffer);
  template <class Hasher>
  std::string hash_job(const Job& job, std::span<std::byte> buffer);
  template <class Hasher>
  void hash_tensor(Hasher& hasher, std::uint32_t index, std::span<std::byte> buffer);
  Metadata hash_metadata(std::uint32_t file, std::span<std::byte> buffer);
  void keep_digest(std::uint32_t tensor, std::uint64_t digest);

  const ModelFile& model_;
  Options options_;
  std::vector<Job> jobs_;
  Hashes hashes_;
  std::mutex mutex_;              // of the two digests that a tensor and its chain give
  std::vector<bool> has_digest_;  // by tensor
  SecondReader reader_;           // last: its threads use the others
};

}  // namespace hiptool::load
