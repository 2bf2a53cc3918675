// SPDX-License-Identifier: MIT
#include "ops/faults.hpp"

#include <array>
#include <span>
#include <utility>

#include "hiptool/copy.hpp"
#include "ops/backend_state.hpp"

namespace hiptool::ops {
namespace {

// The owner of a record: the number of the queued operation, then of its text.
constexpr std::uint32_t text_bits = 24;
constexpr std::uint64_t text_mask = (std::uint64_t{1} << text_bits) - 1;
// A piece of a record: the position, then as many bits of the value.
constexpr std::uint32_t value_bits = 24;

void reset_record(Buffer& record, const StreamRef& stream) {
  fill(record, std::byte{0xFF}, stream);
}

std::string position_in(std::span<const std::uint64_t> dims, std::uint64_t linear) {
  std::vector<std::uint64_t> index(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = linear % dims[axis];
    linear /= dims[axis];
  }
  return list_of(index);
}

[[noreturn]] void throw_fault(const FaultLog::Operation& operation,
                              const hiptool_ops::FaultRecord& record) {
  std::uint64_t value = 0;
  for (std::uint32_t k = 0; k < 3; ++k) {
    value |= (record.pieces[k] & ((1u << value_bits) - 1)) << (value_bits * k);
  }
  const std::string number =
      operation.has_sign ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
  throw Error(operation.code, operation.name,
              operation.name + ": " + operation.element + " " + number + " at position " +
                  position_in(operation.dims, record.pieces[0] >> value_bits) + " of " +
                  operation.tensor + " " + operation.rule);
}

}  // namespace

FaultLog::Recording FaultLog::begin(const Backend& backend, Operation operation) {
  std::unique_lock lock(mutex_);
  if (!record_) {
    Buffer record =
        backend.allocator().allocate(sizeof(hiptool_ops::FaultRecord), backend.stream());
    reset_record(record, backend.stream());
    record_ = record;
  }
  const std::string text = operation.name + operation.tensor + operation.rule;
  auto found = numbers_.find(text);
  if (found == numbers_.end()) {
    if (operations_.size() > text_mask) {
      refuse(operation.name, "too many operations since the last synchronize()");
    }
    found = numbers_.emplace(text, operations_.size()).first;
    operations_.push_back(std::move(operation));
  }
  const std::uint64_t owner = queued_++ << text_bits | found->second;
  return {std::move(lock), static_cast<hiptool_ops::FaultRecord*>(record_->address()), owner};
}

void FaultLog::report(const StreamRef& stream) {
  const std::lock_guard lock(mutex_);
  if (queued_ == 0) return;
  hiptool_ops::FaultRecord record{};
  copy_d2h(std::as_writable_bytes(std::span(&record, 1)), *record_, stream);
  stream.synchronize();
  const std::vector<Operation> operations = std::exchange(operations_, {});
  numbers_.clear();
  queued_ = 0;
  if (record.owner == ~std::uint64_t{0}) return;
  reset_record(*record_, stream);
  throw_fault(operations[record.owner & text_mask], record);
}

void check_divisors(const Backend& backend, std::string_view operation, const Tensor& divisors) {
  if (divisors.element_count() == 0) return;
  const std::size_t size = element_size_bytes(divisors.dtype());
  const Kernel kernel =
      state_of(backend).kernel("ops_index", "hiptool_check_divisors_" + std::to_string(size));
  const Layout positions(divisors.dims());
  const auto operands =
      make_operands<2>(std::array<const Layout*, 2>{&divisors.layout(), &positions}, 0);
  const FaultLog::Recording recording =
      state_of(backend).faults.begin(backend, {ErrorCode::invalid_argument,
                                               std::string(operation),
                                               "the divisor",
                                               "must not be 0",
                                               describe(divisors),
                                               {divisors.dims().begin(), divisors.dims().end()},
                                               false});
  launch_elements(backend, kernel, operands.count, 1, operands, divisors.address(),
                  recording.faults, recording.owner);
}

}  // namespace hiptool::ops
