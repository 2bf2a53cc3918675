// SPDX-License-Identifier: MIT
/// Indices and divisors that kernels find to be wrong: recorded on the device, thrown by the next
/// Backend::synchronize().
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "ops/operands.hpp"

#include <hiptool_moves.h>

namespace hiptool::ops {

class FaultLog {
 public:
  /// Of which elements, and what is wrong with one: "<name>: <element> <value> at position <...> of
  /// <tensor> <rule>".
  struct Operation {
    ErrorCode code = ErrorCode::out_of_bounds;
    std::string name;
    std::string element;  // "id"
    std::string rule;     // "is not below 5"
    std::string tensor;   // "u32[2,3]"
    std::vector<std::uint64_t> dims;
    bool has_sign = false;
  };

  /// Arguments of a kernel that records. Until it is queued no other one must be, so that the
  /// earliest operation is the one of the least number.
  struct Recording {
    std::unique_lock<std::mutex> lock;
    hiptool_ops::FaultRecord* faults;
    std::uint64_t owner;
  };
  Recording begin(const Backend& backend, Operation operation);

  /// Throws the first fault of operations since the last call. Waits for the stream only when there
  /// were any.
  void report(const StreamRef& stream);

 private:
  std::mutex mutex_;
  std::optional<Buffer> record_;  // made when it is needed
  std::uint64_t queued_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;  // of operations, by their text
  std::vector<Operation> operations_;
};

/// Queues a check that no element of an integer tensor is 0.
void check_divisors(const Backend& backend, std::string_view operation, const Tensor& divisors);

}  // namespace hiptool::ops
