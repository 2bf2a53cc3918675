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
#include "hiptool/event.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

namespace load {
struct LoaderAccess;
}

/// Moves bytes into device memory through a small ring of pinned staging slots and several streams:
/// bytes of the caller, or bytes that a function writes into the slots. load_model(), and with it
/// `hiptool load`, does the latter with readers of files. One object serves one device. upload()
/// may be called from many threads at once.
class HIPTOOL_API AsyncLoader {
 public:
  struct Options {
    std::uint32_t streams = 1;  ///< at most 64; more do not make copies faster
    std::uint64_t slot_bytes = 4u << 20;
    /// Of each producer, at most 65536 in all. 0: one for each core, 16 at most, and four in
    /// flight; with several producers two.
    std::uint32_t slots = 0;
    /// Groups of slots, at least 1. A thread that has one of its own fills the same few MiB again
    /// and again, which stay in its core's cache.
    std::uint32_t producers = 1;
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

  /// Writes the bytes of a copy into pinned memory of exactly the destination's size.
  using Write = std::function<void(std::span<std::byte>)>;
  struct Upload {
    std::size_t producer = 0;  ///< whose slots are used
    /// Called when the copy is queued, with an event that is reached when it is done; must not call
    /// the loader.
    std::function<void(const Event& copied)> on_queued;
  };

  /// upload() of bytes that do not exist yet: the function reads or makes them in a slot, on the
  /// calling thread, so that nothing is copied on the host. For destinations of up to slot_bytes().
  /// Where the function throws, nothing is queued and the exception is passed on. Throws
  /// Error(out_of_bounds) for a larger destination or a producer that is not there,
  /// Error(invalid_argument) for an empty function, else as above.
  void upload_from(Buffer& destination, const Write& write);
  void upload_from(Buffer& destination, const Write& write, const Upload& options);
  std::size_t slot_bytes() const noexcept;

  /// Blocks until everything queued has arrived. Throws the first failure.
  void synchronize();

  [[nodiscard]] std::size_t stream_count() const noexcept;
  [[nodiscard]] StreamRef stream(
      std::size_t index) const;  ///< Error(out_of_bounds) for a bad index

 private:
  friend struct load::LoaderAccess;
  struct Impl;
  explicit AsyncLoader(std::unique_ptr<Impl> impl);
  void require_destination(const Buffer& destination) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
