// SPDX-License-Identifier: MIT
#include "load/stream_trace.hpp"

#include <chrono>
#include <utility>

namespace hiptool::load {

StreamTrace::StreamTrace(Timeline& timeline, std::vector<StreamRef> streams,
                         const std::string& name)
    : timeline_(timeline), streams_(std::move(streams)), anchor_(streams_.front().device()) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    tracks_.push_back(
        timeline_.add_track(streams_[i].device().id() + " " + name + " " + std::to_string(i)));
  }
  anchor_.record(streams_.front());
  anchor_.synchronize();
  anchor_time_ = Timeline::Clock::now();
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
  const auto time_of = [this](const Event& event) {
    return anchor_time_ + std::chrono::duration_cast<Timeline::Clock::duration>(
                              std::chrono::duration<double>(event.elapsed_s(anchor_)));
  };
  for (Piece& piece : pieces_) {
    piece.stop.synchronize();
    timeline_.add({tracks_[piece.stream], piece.what, time_of(piece.start), time_of(piece.stop),
                   piece.size_bytes});
  }
  pieces_.clear();
}

}  // namespace hiptool::load
