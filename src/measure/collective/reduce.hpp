// SPDX-License-Identifier: MIT
/// All-reduce by the vendor's library, NCCL or RCCL: judged, then timed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "measure/library/child_run.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

/// Hosts whose devices reduce together. Each of them measures at the same time.
struct ReduceJob {
  std::vector<std::string> hosts;  ///< in the same order on each of them
  std::size_t own = 0;             ///< which of them this is
  std::uint16_t port = 0;          ///< on which the first one listens
  std::size_t first_rank = 0;      ///< of this host's devices
  std::size_t rank_count = 0;      ///< of all hosts
  double timeout_s = 30;           ///< for the answers of the others
};

struct ReduceOptions {
  std::uint64_t size_bytes = 64u << 20;  ///< of each device's data
  std::size_t samples = 9;
  std::optional<ReduceJob> job;                          ///< none: the devices of this host alone
  const CancelToken* cancel = nullptr;                   ///< may be null
  std::function<void(const std::string& step)> on_step;  ///< before what may hang; may be empty
};

enum class ReduceEnd { done, missing, wrong, failed, hung };

/// `bytes_per_s` is the bus bandwidth of NCCL's tests: 2 (n - 1) / n of the size, by the time. The
/// tolerance is 1: errors are shares of the bound.
struct ReduceResult : report::Measurement {
  ReduceEnd end = ReduceEnd::done;
  std::string library_version;
  std::string library_path;
  std::string data;           ///< that was wrong: "whole numbers", "floats"
  bool is_of_others = false;  ///< other hosts of the job ended it, and say why
};

/// A result with its names, before anything is measured.
ReduceResult start_reduce(const std::vector<Device>& devices, const ReduceOptions& options);

/// The result with what only an all-reduce has in its details.
report::Measurement measurement_of(const ReduceResult& result);

/// Sums of whole numbers, which must be exact, and of floats, within (n - 1) 2^-24 of the sum of
/// magnitudes: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, 4.2, for any
/// order of the terms. Every element on every device is compared. Multicast through NVSwitch
/// (NCCL_NVLS_ENABLE) is off unless the environment sets it. Blocks. Throws Error(cancelled) only.
ReduceResult measure_reduce(const std::vector<Device>& devices, const ReduceOptions& options);

/// The same in a process of its own: `program measure-collective REQUEST RESULT`, which is killed
/// where it takes longer than the child's timeout.
ReduceResult reduce_in_child(const LibraryChild& child, const std::vector<Device>& devices,
                             const ReduceOptions& options);

/// What the child does. Throws what the choice of the devices throws.
void run_reduce_child(const std::string& request_path, const std::string& result_path,
                      const MakePlatforms& make_platforms);

}  // namespace hiptool::measure
