// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/event.hpp"
#include "hiptool/stream.hpp"
#include "load/layout/chunks.hpp"

namespace hiptool::load {

/// Sends each chunk that one device is loaded with to others too: from that device's memory where
/// they can reach it, else from the staging slot, which is filled again only afterwards.
class Replicator final : public ChunkSink {
 public:
  struct Target {
    const Buffer& arena;
    bool reaches_original = false;
  };

  /// `sink` is the original's own; may be null. Buffers and sink must outlive it.
  Replicator(const Buffer& original, ChunkSink* sink, std::span<const Target> targets);
  /// Waits for the copies in flight; failures go to the trace.
  ~Replicator() override;

  void before_fill(std::span<const std::byte> slot) override;
  void on_part(std::span<const std::byte> bytes, const Piece& part) override;
  void on_read(const base::ByteRange& chunk, std::span<const std::byte> bytes) override;
  void on_queued(const base::ByteRange& chunk, const Event* copied) override;

  /// Waits until all copies are done. Throws the first failure after all were waited for.
  void finish();

  /// Seconds from a target's first copy to its last, by device events; 0 without copies. After
  /// finish().
  double copy_time_s(std::size_t target) const;

 private:
  struct Copier {
    explicit Copier(const Target& target);
    void start();

    Target target;
    Stream stream;
    std::mutex mutex;
    Event first;
    Event last;
    bool has_started = false;
    std::map<const std::byte*, Event> read;  // of the newest copy from each slot
  };

  const Buffer& original_;
  ChunkSink* sink_;
  std::vector<std::unique_ptr<Copier>> copiers_;
};

}  // namespace hiptool::load
