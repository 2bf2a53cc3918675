// SPDX-License-Identifier: MIT
/// Every operation with every type in every layout, judged element by element.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "measure/kernel/family.hpp"
#include "measure/ops/arrangement.hpp"

namespace hiptool::measure {

struct SweepOptions {
  std::vector<std::string> names;         ///< operations or groups; empty or "ops": all
  std::vector<std::string> dtypes;        ///< only these; empty: all of the operation
  std::vector<Arrangement> arrangements;  ///< only these; empty: all
  Sweep sweep = Sweep::quick;
  std::uint64_t seed = 1;  ///< of the data
  const CancelToken* cancel = nullptr;
  /// Called when an operation is done, with its results of all types; may be empty.
  std::function<void(std::span<const KernelResult>, std::size_t done, std::size_t total)> on_result;
  /// Instead of operations(). For tests.
  const std::vector<OperationEntry>* operations = nullptr;
};

/// The chosen operations. Throws Error(not_found) for an unknown name, Error(invalid_argument) for
/// a type that none of them has.
std::vector<const OperationEntry*> chosen_operations(const SweepOptions& options);

/// A result for each operation and type, in order. The data of a case depends on the seed,
/// operation, type, layout and shape alone, and so does a right digest. A wrong element ends only
/// its layout; after a failed call the type, after an error that the device does not recover from,
/// all that remains has failed. Blocks; when cancelled it returns the results so far.
std::vector<KernelResult> sweep_operations(const SweepOptions& options, const Device& device);

/// 16 hexadecimal digits: XXH3-64 over digests, each as 8 bytes, little-endian, in this order.
std::string join_digests(std::span<const std::uint64_t> digests);

/// "33x40", "scalar" for rank 0.
std::string shape_text(std::span<const std::uint64_t> dims);

}  // namespace hiptool::measure
