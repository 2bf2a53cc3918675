// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hiptool/event.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::runtime {

/// Greedy decoding in which the device chooses the id of each step itself, so that it can compute a
/// step while the host still checks the logits of the one before. The logits come to the host by
/// copies behind each step, into pinned memory for two of them.
class StepsAhead {
 public:
  /// Throws what PinnedBuffer and Event throw. The runtime must outlive this object.
  explicit StepsAhead(ModelRuntime& runtime);
  /// Waits until the stream has passed the copies.
  ~StepsAhead();
  StepsAhead(const StepsAhead&) = delete;
  StepsAhead& operator=(const StepsAhead&) = delete;

  /// Whether the device that computes the logits is the one that takes ids.
  [[nodiscard]] static bool is_possible(const ModelRuntime& runtime);

  /// Queues the copy of a prompt's logits. Of this and queue_step() at most two are unread.
  void add_prompt(const Tensor& logits);
  /// Queues a step with the id of the largest of the last logits, and the copy of its logits.
  /// Throws what ModelRuntime::decode_step throws.
  void queue_step();

  [[nodiscard]] std::size_t unread() const { return queued_ - read_; }
  /// Reached once the logits that read() gives next are in host memory.
  [[nodiscard]] const Event& next_copy() const { return slot(read_).copied; }
  /// After next_copy() was reached: the oldest unread logits, valid until two more are queued.
  /// Throws Error(data_mismatch), naming the device, where their step was computed with another id
  /// than `chosen`, which the host found in the logits before.
  [[nodiscard]] std::span<const float> read(std::uint32_t chosen);

 private:
  struct Slot {
    PinnedBuffer memory;  // logits, then the id that they were computed with
    Event copied;
    std::uint64_t position = 0;  // of that id
    bool has_id = false;
  };
  Slot make_slot() const;
  const Slot& slot(std::size_t number) const { return slots_[number % slots_.size()]; }
  void add(const Tensor& logits, const Tensor* id);

  ModelRuntime& runtime_;
  std::size_t logits_bytes_;
  std::array<Slot, 2> slots_;
  std::size_t queued_ = 0;
  std::size_t read_ = 0;
  bool has_copies_ = false;
  std::optional<Tensor> last_logits_;
};

}  // namespace hiptool::runtime
