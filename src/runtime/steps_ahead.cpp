// SPDX-License-Identifier: MIT
#include "runtime/steps_ahead.hpp"

#include <cstring>
#include <string>

#include "core/call.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_rows.hpp"

namespace hiptool::runtime {
namespace {

// Logits and ids have elements of one size.
Buffer bytes_in_place(const Tensor& values) {
  const std::size_t start = values.layout().start_offset() * sizeof(float);
  return values.buffer().view(start, values.size_bytes());
}

// Kernels that got an id beyond the vocabulary have reported it, and the error is another one here.
void forget_faults(const Backend& backend) {
  try {
    backend.synchronize();
  } catch (const Error&) {
  }
}

}  // namespace

StepsAhead::StepsAhead(ModelRuntime& runtime)
    : runtime_(runtime),
      logits_bytes_(runtime.spec().vocabulary * sizeof(float)),
      slots_{make_slot(), make_slot()} {}

StepsAhead::~StepsAhead() {
  if (has_copies_) core::settle(runtime_.backend().stream());
}

StepsAhead::Slot StepsAhead::make_slot() const {
  const Device& device = runtime_.backend().device();
  return {PinnedBuffer(device, logits_bytes_ + sizeof(std::uint32_t)),
          Event(device, Event::Kind::ordering)};
}

bool StepsAhead::is_possible(const ModelRuntime& runtime) {
  return runtime.backend().device() == runtime.input_backend().device();
}

void StepsAhead::add_prompt(const Tensor& logits) { add(logits, nullptr); }

void StepsAhead::queue_step() {
  // As sample_token() chooses: of equal logits the lowest id. Where it refuses logits any id may
  // follow, since the error ends decoding.
  const Tensor id = ops::argmax(runtime_.backend(), *last_logits_, {0}).with_layout(Layout{1});
  add(runtime_.decode_step(id), &id);
}

void StepsAhead::add(const Tensor& logits, const Tensor* id) {
  const StreamRef& stream = runtime_.backend().stream();
  Slot& slot = slots_[queued_ % slots_.size()];
  has_copies_ = true;
  copy_d2h(slot.memory.bytes().first(logits_bytes_), bytes_in_place(logits), stream);
  if (id != nullptr)
    copy_d2h(slot.memory.bytes().subspan(logits_bytes_), bytes_in_place(*id), stream);
  slot.copied.record(stream);
  slot.has_id = id != nullptr;
  slot.position = runtime_.position() - 1;
  last_logits_ = logits;
  ++queued_;
}

std::span<const float> StepsAhead::read(std::uint32_t chosen) {
  const Slot& slot = this->slot(read_);
  const std::byte* const data = slot.memory.data();
  std::uint32_t id = chosen;
  if (slot.has_id) std::memcpy(&id, data + logits_bytes_, sizeof id);
  if (id != chosen) {
    const Backend& backend = runtime_.backend();
    forget_faults(backend);
    const std::string device = backend.device().id();
    throw Error({ErrorCode::data_mismatch, "decode",
                 device + " computes wrongly: its argmax chose token " + std::to_string(id) +
                     " for position " + std::to_string(slot.position) +
                     ", but the largest logit is that of token " + std::to_string(chosen),
                 "see which operations are wrong: hiptool run-kernel ops --device " + device,
                 std::nullopt, device});
  }
  ++read_;
  return {reinterpret_cast<const float*>(data), logits_bytes_ / sizeof(float)};
}

}  // namespace hiptool::runtime
