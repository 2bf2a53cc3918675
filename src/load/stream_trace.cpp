// SPDX-License-Identifier: MIT
#include "load/stream_trace.hpp"

#include <chrono>
#include <utility>

namespace hiptool::load {

StreamTrace::StreamTrace(Timeline& timeline, std::vector<StreamRef> streams,
                         const std::string& name)
    : timeline_(timeline), streams_(std::move(streams)) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    tracks_.push_back(
        timeline_.add_track(streams_[i].device().id() + " " + name + " " + std::to_string(i)));
  }
}

std::size_t StreamTrace::begin(std::size_t stream, std::string_view what,
                               std::uint64_t size_bytes) {
  const Device& device = streams_[stream].device();
  Piece piece{stream, what, size_bytes, Event(device), Event(device)};
  piece.start.record(streams_[stream]);
  const std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  return pieces_.size() - 1;
}

void StreamTrace::end(std::size_t piece) {
  const std::lock_guard lock(mutex_);
  pieces_[piece].stop.record(streams_[pieces_[piece].stream]);
}

void StreamTrace::finish() {
  const std::lock_guard lock(mutex_);
  const std::vector<Piece> pieces = std::exchange(pieces_, {});
  if (pieces.empty()) return;
  for (const Piece& piece : pieces) piece.stop.synchronize();
  Event last(streams_.front().device());
  last.record(streams_.front());
  last.synchronize();
  const Timeline::Clock::time_point now = Timeline::Clock::now();
  const auto time_of = [&](const Event& event) {
    return now - std::chrono::duration_cast<Timeline::Clock::duration>(
                     std::chrono::duration<double>(last.elapsed_s(event)));
  };
  for (const Piece& piece : pieces) {
    timeline_.add({tracks_[piece.stream], piece.what, time_of(piece.start), time_of(piece.stop),
                   piece.size_bytes});
  }
}

}  // namespace hiptool::load
