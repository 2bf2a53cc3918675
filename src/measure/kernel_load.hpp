// SPDX-License-Identifier: MIT
/// A kernel that is repeated for long, alongside other work, with every result checked.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hiptool/device.hpp"
#include "measure/kernel/family.hpp"

namespace hiptool::measure {

struct KernelLoadOptions {
  std::string family;            ///< "gemm"
  std::string dtype;             ///< one of the family
  std::uint64_t size_bytes = 0;  ///< of one array, rounded as run_kernels() does
  std::uint64_t seed = 1;        ///< of the data of operations
  /// Blocks for each multiprocessor instead of the family's own number, to leave room for others.
  std::optional<std::uint64_t> blocks_per_unit = {};
};

/// Whether sizes have a meaning for the family; throws Error(not_found) for an unknown one.
bool has_size(const std::string& family);

/// One family, type and size on one device, with a stream of its own.
class KernelLoad {
 public:
  /// What one round did.
  struct Round {
    std::uint64_t runs = 0;
    double time_s = 0;          ///< of the runs, without what only the check took
    std::uint64_t checked = 0;  ///< values
    double max_error = 0;
    std::optional<WrongData> wrong;  ///< then the inputs were written again
    std::string missed_fault;        ///< a planted one that the check did not find
  };

  /// Takes memory and loads the kernel. Blocks. Throws Error(not_found) for an unknown family or
  /// type, Error(unsupported) where the device cannot run it, Error(out_of_memory).
  KernelLoad(const Device& device, const KernelLoadOptions& options);
  ~KernelLoad();
  KernelLoad(const KernelLoad&) = delete;
  KernelLoad& operator=(const KernelLoad&) = delete;

  /// Writes the inputs, runs once and judges that run in full. Blocks.
  Round begin();

  /// Runs for about `time_s` and checks each run: where a right run always writes the same bytes,
  /// the output is overwritten before each and its digests are compared with the digests of the
  /// first run; else the family's own check judges all runs since begin(). Blocks.
  Round run(double time_s);

  std::uint64_t size_bytes() const;
  std::uint64_t elements() const;
  double tolerance() const;
  double bytes_of_run() const;  ///< read and written; 0 where none are counted
  double flops_of_run() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace hiptool::measure
