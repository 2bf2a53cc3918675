// SPDX-License-Identifier: MIT
/// Data that running kernels of several devices exchange through each other's memory, without a
/// library: checked, then rated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

enum class ExchangeKind {
  ring,       ///< all-reduce of 32-bit sums: reduce-scatter, then all-gather
  all_to_all  ///< every device sends each other one a part of its own
};

/// "exchange-ring", "exchange-all".
std::string_view to_string(ExchangeKind kind) noexcept;

/// `bytes_per_s` is what each device sends, as NCCL's bus bandwidth counts it: 2 (n - 1) / n of the
/// size in a ring, (n - 1) / n all to all.
struct ExchangeResult : report::Measurement {
  ExchangeKind exchange = ExchangeKind::ring;
  std::uint32_t rounds = 0;         ///< of all launches
  std::uint64_t elements = 0;       ///< of all devices
  bool has_timed_out = false;       ///< the error: data or a flag did not come
  std::string through_host_reason;  ///< why host memory was between; empty: peer memory
  /// Ids of the devices between which data was lost or changed; empty where that is unknown.
  std::string sender;
  std::string receiver;
};

struct ExchangeOptions {
  std::uint64_t size_bytes = 8u << 20;  ///< of each device's data; rounded up to whole chunks
  std::uint32_t rounds = 4;             ///< of a launch
  std::size_t samples = 3;              ///< launches that are timed, after one that is not
  double timeout_s = 5;                 ///< of a launch: kernels that wait longer give up
  bool through_host = false;            ///< even where devices reach each other
  const CancelToken* cancel = nullptr;  ///< may be null
  std::function<void(const std::string& step)> on_step;  ///< before what may hang; may be empty
  /// The result, before memory is freed: that may not return where another device hangs. May be
  /// empty.
  std::function<void(const ExchangeResult& result)> on_result;
};

/// The result with what only exchanges have in its details.
report::Measurement measurement_of(const ExchangeResult& result);

/// Exchanges between at least two devices of one platform. All elements of all rounds are compared
/// with what the host computes. Where a device cannot reach its peers, data and flags are in host
/// memory. A kernel that waits in vain gives up when the host says so, and else after a number of
/// spins. Blocks. Failed calls and wrong data set the status; throws Error(cancelled) only.
ExchangeResult measure_exchange(const std::vector<Device>& devices, ExchangeKind kind,
                                const ExchangeOptions& options);

}  // namespace hiptool::measure
