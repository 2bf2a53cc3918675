// SPDX-License-Identifier: MIT
#include "measure/ops/call_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hiptool/error.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

std::string place_text(const Dims& dims, std::uint64_t index) {
  std::string text = "]";
  for (std::size_t axis = dims.size(); axis > 0; --axis) {
    text = std::to_string(index % dims[axis - 1]) + (text.size() > 1 ? "," : "") + text;
    index /= dims[axis - 1];
  }
  return "[" + text;
}

std::uint64_t bits_at(std::span<const std::byte> bytes, std::size_t index, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

/// Memory of one call.
class PlacedCall {
 public:
  PlacedCall(const Backend& backend, const OperationCase& call, Arrangement arrangement)
      : backend_(backend), call_(call) {
    const auto allocate = [&](std::size_t bytes) {
      return backend.empty(DType::u8, {bytes}).buffer();
    };
    const bool is_in_place = arrangement == Arrangement::in_place;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const InputData& data = call.inputs[i];
      // Of rank 3 the tensor that is input and output is transposed.
      const bool turns = is_in_place && data.dims.size() > 2 && i == *call.in_place;
      const Arrangement own =
          is_in_place ? (turns ? Arrangement::transposed : Arrangement::packed) : arrangement;
      inputs_.push_back(place(allocate, data.dtype, data.dims, own, turns ? 0 : i));
    }
    if (is_in_place) {
      shared_ = *call.in_place;
    } else {
      own_out_ = place(allocate, call.result_dtype, call.result_dims, arrangement, std::nullopt);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].write(call.inputs[i].bytes);
      // What a layout that repeats elements really holds.
      values_.push_back(reference::values_of(
          call.inputs[i].dtype, inputs_[i].elements_of(inputs_[i].image), call.inputs[i].dims));
    }
  }

  PlacedTensor& out() { return shared_ ? inputs_[*shared_] : *own_out_; }
  std::span<const Values> values() const { return values_; }

  /// Calls the operation on fresh memory and returns the memory of the output.
  std::vector<std::byte> run() {
    if (shared_) {
      inputs_[*shared_].write(call_.inputs[*shared_].bytes);
    } else {
      own_out_->poison();
    }
    std::vector<Tensor> tensors;
    for (const PlacedTensor& input : inputs_) tensors.push_back(input.tensor);
    call_.run(backend_, tensors, out().tensor);
    backend_.synchronize();
    return out().read();
  }

  /// What the call changed that it must not; empty: nothing.
  std::string find_damage(std::span<const std::byte> out_image) {
    if (!out().is_intact(out_image)) return "wrote outside of the output's elements";
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (shared_ == i) continue;
      if (inputs_[i].read() != inputs_[i].image) return "changed input " + std::to_string(i);
    }
    return {};
  }

 private:
  const Backend& backend_;
  const OperationCase& call_;
  std::vector<PlacedTensor> inputs_;
  std::vector<Values> values_;
  std::optional<PlacedTensor> own_out_;
  std::optional<std::size_t> shared_;
};

CallResult judge_placed(PlacedCall& placed, const OperationCase& call) {
  const std::vector<std::byte> image = placed.run();
  const PlacedTensor& out = placed.out();
  std::vector<std::byte> elements = out.elements_of(image);
  CallResult result =
      compare_elements(call.result_dtype, elements, call.reference(placed.values()));
  if (result.wrong && result.wrong->element) {
    result.wrong->element->reread_agrees = out.elements_of(out.read()) == elements;
  }
  if (!result.wrong) {
    if (const std::string damage = placed.find_damage(image); !damage.empty()) {
      result.wrong.emplace();
      result.wrong->what = damage;
    }
  }
  if (!result.wrong && placed.run() != image) {
    result.wrong.emplace();
    result.wrong->what = "a second call gives other bits";
  }
  result.elements = std::move(elements);
  return result;
}

}  // namespace

report::Value element_value(DType dtype, long double value) {
  if (is_floating_point(dtype)) return static_cast<double>(value);
  if (value < 0) return static_cast<std::int64_t>(value);
  return static_cast<std::uint64_t>(value);
}

bool is_refusal(const Error& error, std::string_view name) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
    case ErrorCode::out_of_bounds:
    case ErrorCode::not_found: return true;
    // An image that is missing for the device is no fault of the operation.
    case ErrorCode::unsupported: return error.operation() == name;
    default: return false;
  }
}

CallResult compare_elements(DType dtype, std::span<const std::byte> got, const Expected& expected) {
  CallResult result;
  const std::size_t size = element_size_bytes(dtype);
  result.has_bound = !expected.slack.empty();
  const std::size_t count = expected.values.at.size();
  result.checked = count;
  const auto wanted = reference::bytes_of(dtype, expected.values);
  if (wanted.size() != got.size()) {
    result.wrong.emplace();
    result.wrong->what = "the result has " + std::to_string(got.size() / size) +
                         " elements, the reference " + std::to_string(count);
    return result;
  }
  if (count == 0 || std::memcmp(wanted.data(), got.data(), got.size()) == 0) return result;
  const Values values = reference::values_of(dtype, got, expected.values.dims);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t difference = bits_at(got, i, size) ^ bits_at(wanted, i, size);
    if (difference == 0) continue;
    if (result.has_bound && reference::is_within_slack(expected, i, values.at[i])) {
      const long double error = std::fabs(values.at[i] - expected.values.at[i]);
      result.max_error = std::max(result.max_error, static_cast<double>(error / expected.slack[i]));
      continue;
    }
    if (!result.wrong) {
      result.wrong.emplace();
      report::WrongData& first = result.wrong->element.emplace();
      first.first_index = i;
      first.expected = element_value(dtype, expected.values.at[i]);
      first.got = element_value(dtype, values.at[i]);
      result.wrong->what =
          "element " + place_text(expected.values.dims, i) + " (" + std::to_string(i) + ")";
    }
    result.wrong->element->xor_bits |= difference;
    ++result.wrong->element->count;
  }
  return result;
}

CallResult judge_call(const Backend& backend, const std::string& name, const OperationCase& call,
                      Arrangement arrangement) {
  PlacedCall placed(backend, call, arrangement);
  try {
    return judge_placed(placed, call);
  } catch (const Error& error) {
    if (!is_refusal(error, name)) throw;
    CallResult result;
    result.wrong.emplace();
    result.wrong->what = std::string("refused: ") + error.what();
    return result;
  }
}

}  // namespace hiptool::measure
