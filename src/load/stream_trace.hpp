// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/event.hpp"
#include "hiptool/stream.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool::load {

/// Puts what streams of one device do on a timeline, by a pair of events around each piece of work.
/// Device times become host times by an event at the end. By the first event of the process, as
/// before, they were 0.59 s too early on two H200: by the devices' clocks it came after the copies
/// that were queued behind it. Where several threads queue to one stream at once, neighbouring
/// pieces may seem to overlap.
class StreamTrace {
 public:
  /// A track for each stream, "nvidia:1 NAME 0" and so on.
  StreamTrace(Timeline& timeline, std::vector<StreamRef> streams, const std::string& name);

  /// Before and after the piece of work is queued; from any thread.
  std::size_t begin(std::size_t stream, std::string_view what, std::uint64_t size_bytes);
  void end(std::size_t piece);

  /// Waits for all pieces and puts them on the timeline, or none of them if one failed.
  void finish();

 private:
  struct Piece {
    std::size_t stream;
    std::string_view what;
    std::uint64_t size_bytes;
    Event start;
    Event stop;
  };

  Timeline& timeline_;
  std::vector<StreamRef> streams_;
  std::vector<std::uint32_t> tracks_;
  std::mutex mutex_;
  std::vector<Piece> pieces_;
};

}  // namespace hiptool::load
