// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "hiptool/buffer.hpp"
#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

/// Use of an arena at one moment: capacity = padded + free.
struct ArenaCounters {
  std::size_t capacity_bytes = 0;
  std::size_t requested_bytes = 0;  ///< of all slices, as requested
  std::size_t padded_bytes = 0;     ///< of all slices, each rounded up to 256
  std::size_t free_bytes = 0;
  std::size_t largest_free_bytes = 0;
  std::size_t slice_count = 0;
  std::size_t fragment_count = 0;  ///< free ranges; 1 when the free memory is contiguous

  /// 1 - largest_free / free; 0 when nothing is free.
  [[nodiscard]] double fragmentation() const noexcept;
};

/// Many slices in one allocation, for programs that place hundreds of tensors: best fit, nothing
/// lost between slices, freed neighbours grow together.
///
/// A slice is a Buffer. It keeps the allocation alive, also when the Arena is gone, and its range
/// is free again when the last Buffer on it (the slice and its views) goes. The arena
/// ignores streams: release a slice only when the work that uses it is done. Safe to use from
/// several threads. Functions of a moved-from Arena throw
/// Error(invalid_argument).
class HIPTOOL_API Arena {
 public:
  static constexpr std::size_t minimum_alignment_bytes = 256;

  /// Allocates the capacity, rounded up to 256 bytes. Throws what Buffer throws.
  Arena(const Device& device, std::size_t capacity_bytes);

  /// Divides existing memory: from the first address in it that is a multiple of 256, as many
  /// multiples of 256 as fit. Keeps the buffer. Throws Error(invalid_argument) for a buffer on no
  /// device.
  explicit Arena(const Buffer& memory);

  ~Arena();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;

  /// A slice of exactly this size, in the smallest free range that can hold it, at an address that
  /// is a multiple of the alignment. Its bytes are not initialised. Size 0 takes no range and has a
  /// null address. Makes no runtime call and does not block. Throws Error(invalid_argument) for an
  /// alignment that is below 256 or not a power of two, and Error(out_of_memory), which is
  /// recoverable, when no free range can hold it.
  [[nodiscard]] Buffer allocate(std::size_t size_bytes,
                                std::size_t alignment_bytes = minimum_alignment_bytes);

  /// The same, and find() returns it by its name for as long as it lives. Throws
  /// Error(invalid_argument) for a name that is empty or taken by a slice that lives.
  [[nodiscard]] Buffer allocate_named(std::string name, std::size_t size_bytes,
                                      std::size_t alignment_bytes = minimum_alignment_bytes);

  /// The living slice of that name, whole. Throws Error(not_found).
  [[nodiscard]] Buffer find(std::string_view name) const;

  [[nodiscard]] ArenaCounters counters() const;
  [[nodiscard]] const Device& device() const;

 private:
  struct State;
  struct Slice;
  [[nodiscard]] State& state() const;  // throws where it was moved from
  [[nodiscard]] static Buffer to_buffer(const std::shared_ptr<Slice>& slice);
  [[nodiscard]] Buffer allocate_slice(std::string name, std::size_t size_bytes,
                                      std::size_t alignment_bytes);
  void place(Slice& slice, std::size_t alignment_bytes);  // under the lock

  std::shared_ptr<State> state_;
};

}  // namespace hiptool
