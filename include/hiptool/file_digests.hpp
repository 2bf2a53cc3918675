// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/export.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool {

/// The digests of a model's leaves (see verify_readback) as its files hold them, by an independent
/// second reader: files opened anew, offsets straight from the parsed headers, no part of the
/// loader. It needs no device, so it can start before one does. The model must outlive it.
class HIPTOOL_API FileDigests {
 public:
  struct Options {
    std::uint32_t threads = 0;            ///< 0: one for each core this process may use
    const CancelToken* cancel = nullptr;  ///< must outlive this object
    Timeline* timeline = nullptr;         ///< gets a lane for each thread; must outlive this object
  };
  struct Statistics {
    std::uint64_t bytes = 0;  ///< read and hashed so far
    double duration_s = 0;    ///< from the start to the last of them, or until now
  };

  /// Opens the files and starts at once, on threads of its own. Throws Error(input_failed) where a
  /// file cannot be opened or is not the one that was parsed, Error(host_out_of_memory) where no
  /// thread can be started. Does not block.
  explicit FileDigests(const ModelFile& model);
  FileDigests(const ModelFile& model, const Options& options);
  /// Gives up what is not done; waits for the read calls under way.
  ~FileDigests();
  FileDigests(const FileDigests&) = delete;
  FileDigests& operator=(const FileDigests&) = delete;

  /// From now on at most so many threads run (at least one): for the time in which a load needs the
  /// cores. 0: half of the cores, which with readers on the other half keeps up with a load at the
  /// rate of the link. Threads above it pause after the 8 MiB they are at. From any thread; does
  /// not block.
  void limit_threads(std::uint32_t threads);

  /// Lets all threads run again, waits for them and gives the digest of each leaf: those of tensor
  /// 0 in order, then those of tensor 1... Throws Error(input_failed) where a file could not be
  /// read or was changed, truncated or replaced meanwhile, Error(cancelled) by the token. May be
  /// called again, and from several threads.
  const std::vector<std::uint64_t>& get();

  /// From any thread; does not block.
  Statistics statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
