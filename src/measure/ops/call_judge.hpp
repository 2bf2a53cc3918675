// SPDX-License-Identifier: MIT
/// Runs one call of an operation and judges every byte that it could have touched.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/ops/arrangement.hpp"
#include "report/measurement.hpp"

namespace hiptool::measure {

/// What was wrong with a call.
struct WrongCall {
  /// "element [2,7] (87)", "changed input 1", "refused: ..."; without the operation.
  std::string what;
  /// The first wrong element in row-major order, what was there, and how many are wrong; absent
  /// where the elements are right.
  std::optional<report::WrongData> element;
};

struct CallResult {
  std::uint64_t checked = 0;  ///< elements compared
  double max_error = 0;       ///< largest |got - want| as a share of the bound; 0 if there is none
  bool has_bound = false;     ///< else results are compared bit by bit
  std::vector<std::byte> elements;  ///< of the output, packed
  std::optional<WrongCall> wrong;
};

/// Compares the elements of a tensor with what they should be; fills all but the elements.
CallResult compare_elements(DType dtype, std::span<const std::byte> got,
                            const reference::Expected& expected);

/// Places inputs and output so, calls the operation twice and compares: every element with the
/// reference, the two results with each other, and inputs and all bytes between and around elements
/// with what they were. Throws what the device throws; an error by which the operation itself
/// refuses the call is a wrong result. Blocks.
CallResult judge_call(const Backend& backend, const std::string& name, const OperationCase& call,
                      Arrangement arrangement);

/// Whether the operation of that name refused the call, and not the device.
bool is_refusal(const Error& error, std::string_view name);

/// The number of an element as documents have it.
report::Value element_value(DType dtype, long double value);

}  // namespace hiptool::measure
