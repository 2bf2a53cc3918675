// SPDX-License-Identifier: MIT
#include "accept/reduce_faults.hpp"

#include "hiptool/error.hpp"

namespace hiptool::accept {
namespace {

/// What a kind of end is called, and what to do about it.
struct ReduceFinding {
  const char* code;
  std::string action;
};

ReduceFinding finding_of(const measure::ReduceResult& result) {
  const std::string again = "repeat it with NCCL_DEBUG=INFO in the environment";
  switch (result.end) {
    case measure::ReduceEnd::missing:
      return {machine::codes::nccl_missing,
              "install it, or name its folder in HIPTOOL_LIBRARY_PATH"};
    case measure::ReduceEnd::wrong:
      return {machine::codes::nccl_data,
              "update " + result.library +
                  " and the driver; if it is right with "
                  "NCCL_P2P_DISABLE=1, check the links between the GPUs"};
    case measure::ReduceEnd::hung:
      return {machine::codes::nccl_hang,
              again +
                  "; try NCCL_P2P_DISABLE=1 and NCCL_SHM_DISABLE=1, turn PCIe ACS off and "
                  "enlarge /dev/shm"};
    default:
      return {machine::codes::nccl_error,
              again + "; update " + result.library + " so that it fits the driver"};
  }
}

}  // namespace

Fault reduce_fault(const std::string& stage, const measure::ReduceResult& result) {
  const ReduceFinding finding = finding_of(result);
  Fault fault = fault_of(finding.code, result);
  fault.action = finding.action;
  fault.reason = result.reason;
  if (result.end == measure::ReduceEnd::missing) {
    fault.severity = machine::Severity::unknown;
    return fault;
  }
  if (result.wrong) {
    fault.reason = wrong_text(*result.wrong) + "; " + result.reason;
    fault.expected = result.wrong->expected;
    fault.got = result.wrong->got;
    fault.error = Error(ErrorCode::data_mismatch, stage, result.id + ": " + fault.reason);
  } else {
    fault.error = result.error.value_or(Error(ErrorCode::device, stage, result.reason));
  }
  return fault;
}

measure::ReduceOptions reduce_options(const StageContext& context) {
  measure::ReduceOptions options;
  options.size_bytes =
      context.level <= CheckLevel::quick ? std::uint64_t{32} << 20 : std::uint64_t{128} << 20;
  if (context.size_bytes > 0) options.size_bytes = context.size_bytes;
  options.samples = context.level <= CheckLevel::quick ? 9 : 15;
  options.cancel = context.cancel;
  return options;
}

}  // namespace hiptool::accept
