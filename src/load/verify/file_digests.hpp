// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"
#include "load/layout/blocks.hpp"
#include "load/read/second_reader.hpp"

namespace hiptool::load {

/// The digests of a model's blocks (see verify_readback) as its files hold them, by an independent
/// second reader: files opened again, offsets straight from the parsed headers, no part of the
/// loader. It needs no device, so it can start before one does. The model must outlive it.
///
/// On request it also gives the SHA-256 of files. Such a file is read once, from its first byte to
/// its last, by one thread, and each buffer serves the hash and the digests: memory with these
/// digests holds the bytes that the hash is of. It takes as long as one core needs for SHA-256.
class FileDigests {
 public:
  struct Options {
    std::uint32_t threads = 0;            ///< 0: one for each core this process may use
    const CancelToken* cancel = nullptr;  ///< must outlive this object
    Timeline* timeline = nullptr;  ///< gets a track for each thread; must outlive this object
    /// Files whose SHA-256 is wanted, by index of ModelFile::files().
    std::vector<std::uint32_t> sha256_of = {};
  };

  /// Opens the files and starts at once, on threads of its own. Throws Error(input_failed) where a
  /// file cannot be opened or is not the one that was parsed, Error(host_out_of_memory) where no
  /// thread can be started, Error(out_of_bounds) for a file that the model does not have. Does not
  /// block.
  explicit FileDigests(const ModelFile& model) : FileDigests(model, Options{}) {}
  FileDigests(const ModelFile& model, const Options& options);

  /// From now on at most this many threads run (at least one): for the time in which a load needs
  /// the cores. 0: half of the cores, which with readers on the other half keeps up with a load at
  /// the rate of the link. Threads above it pause after the 8 MiB they are at, or after the file
  /// whose SHA-256 they compute. From any thread; does not block.
  void limit_threads(std::uint32_t threads) { reader_.limit_threads(threads); }

  /// Lets all threads run again, waits for them and gives the digest of each block: blocks of
  /// tensor 0 in order, then of tensor 1... Throws Error(input_failed) where a file could not be
  /// read or was changed, truncated or replaced meanwhile, Error(cancelled) by the token. May be
  /// called again, and from several threads.
  std::span<const std::uint64_t> get();

  /// Waits as get() does and throws the same. Gives the SHA-256 of each file as 64 lower-case
  /// hexadecimal digits, by index of ModelFile::files(); empty for files not in sha256_of.
  const std::vector<std::string>& sha256();

  /// Waits at most that long; false where there is still something to read.
  bool wait_for(std::chrono::milliseconds time) const { return reader_.wait_for(time); }

  /// From any thread; does not block.
  SecondReader::Statistics statistics() const { return reader_.statistics(); }

 private:
  std::vector<SecondReader::Job> divide();
  void hash_file(std::uint32_t file);
  void digest_range(const BlockRange& range, std::span<std::byte> buffer);

  const ModelFile& model_;
  BlockMap blocks_;
  std::vector<std::uint32_t> hashed_files_;  // each is read as a whole; they are taken first
  std::vector<BlockRange> ranges_;           // of the tensors in other files
  // Not zeroed: one thread would touch 7 MB (model of 14 GB) before reading starts.
  std::unique_ptr<std::uint64_t[]> digests_;
  std::vector<std::string> hashes_;  // by file
  SecondReader reader_;              // last: its threads use the others
};

}  // namespace hiptool::load
