// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

/// Moves host bytes of the caller into device memory through a small ring of pinned staging slots
/// and several streams. One object serves one device. upload() may be called from many threads at
/// once. (Model files: load_model().)
class HIPTOOL_API AsyncLoader {
 public:
  struct Options {
    std::uint32_t streams = 1;  ///< at most 64; more do not make copies faster
    std::uint64_t slot_bytes = 4u << 20;
    /// At most 65536. 0: one for each core, 16 at most, and four in flight.
    std::uint32_t slots = 0;
    /// Streams of the caller instead of own ones; all must be on the loader's device.
    std::vector<StreamRef> external_streams;
    /// Must outlive the loader.
    std::optional<std::reference_wrapper<const CancelToken>> cancel;
  };

  /// Makes streams; slots are pinned when the first is needed, or by prepare(). Throws
  /// Error(invalid_argument) for sizes that are zero or too large and for foreign streams, else
  /// what the runtime answered.
  AsyncLoader(const Device& device, Options options);
  explicit AsyncLoader(const Device& device);
  /// Waits for queued copies; failures go to the trace.
  ~AsyncLoader();
  AsyncLoader(const AsyncLoader&) = delete;
  AsyncLoader& operator=(const AsyncLoader&) = delete;

  /// Pins the slots unless they are pinned: about 10 ms for 128 MiB on one H200 machine. Blocks.
  /// May run on a thread of its own during upload(), which waits for it. Throws Error(cancelled),
  /// Error(host_out_of_memory) or Error(device).
  void prepare();

  /// Queues a copy of the bytes into the start of the destination, on the stream with the least
  /// bytes queued. The source may be reused when this returns. Blocks while every slot is in
  /// flight; the first call pins all slots unless prepare() did. Throws Error(out_of_bounds) when
  /// the source is longer than the destination, Error(invalid_argument) for a destination on
  /// another device, Error(cancelled), and what prepare() throws.
  void upload(Buffer& destination, std::span<const std::byte> source);

  /// Blocks until everything queued has arrived. Throws the first failure.
  void synchronize();

  [[nodiscard]] std::size_t stream_count() const noexcept;
  [[nodiscard]] StreamRef stream(
      std::size_t index) const;  ///< Error(out_of_bounds) for a bad index

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
