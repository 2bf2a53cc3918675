// SPDX-License-Identifier: MIT
#include "load/read/read_ahead.hpp"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/timeline_scope.hpp"
#include "model/parts.hpp"

namespace hiptool::load {
namespace {

using Clock = std::chrono::steady_clock;

// 4 MiB in flight: a virtual machine's disk is slower with more than 8, and the driver needs cores.
constexpr std::uint32_t most_ahead_threads = 4;
constexpr std::uint64_t ahead_piece_bytes = 1u << 20;

}  // namespace

struct ReadAhead::Impl {
  struct Piece {
    std::size_t file;
    std::uint64_t offset;
    std::uint64_t size_bytes;
  };

  std::vector<base::File> files;
  std::vector<Piece> pieces;
  Timeline* timeline;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> is_stopped{false};
  const Clock::time_point start = Clock::now();
  std::atomic<Clock::duration> end{Clock::duration::zero()};  // of the last read, since the start
  std::vector<std::jthread> threads;                          // last: they use the others

  Impl(const ModelFile& model, Timeline* chosen, std::uint64_t most_bytes)
      : files(model::open_unchanged(model)), timeline(chosen) {
    std::uint64_t planned_bytes = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      // The kernel would read on after the last piece.
      posix_fadvise(files[i].descriptor(), 0, 0, POSIX_FADV_RANDOM);
      for (std::uint64_t at = 0; at < files[i].size_bytes(); at += ahead_piece_bytes) {
        if (planned_bytes >= most_bytes) return;
        pieces.push_back({i, at, std::min(ahead_piece_bytes, files[i].size_bytes() - at)});
        planned_bytes += pieces.back().size_bytes;
      }
    }
  }

  void read(std::size_t index) {
    std::uint32_t track = 0;
    if (timeline != nullptr) track = timeline->add_track("read ahead " + std::to_string(index));
    std::vector<std::byte> buffer(ahead_piece_bytes);
    while (!is_stopped.load()) {
      const std::size_t number = next.fetch_add(1);
      if (number >= pieces.size()) return;
      const auto& [file, offset, size_bytes] = pieces[number];
      const base::TimelineScope scope(timeline, track, "read ahead", size_bytes);
      files[file].read_at(std::span(buffer).first(size_bytes), offset);
      bytes.fetch_add(size_bytes);
      const Clock::duration now = Clock::now() - start;
      Clock::duration latest = end.load();
      while (latest < now && !end.compare_exchange_weak(latest, now)) {
      }
    }
  }
};

ReadAhead::ReadAhead(const ModelFile& model, Timeline* timeline, std::uint64_t most_bytes) {
  try {
    impl_ = std::make_unique<Impl>(model, timeline, most_bytes);
    const auto count = std::min<std::size_t>(most_ahead_threads, impl_->pieces.size());
    for (std::size_t i = 0; i < count; ++i) {
      impl_->threads.emplace_back([impl = impl_.get(), i] {
        try {
          impl->read(i);
        } catch (const std::exception&) {
          impl->is_stopped.store(true);  // the load meets the same fault and reports it
        }
      });
    }
  } catch (const std::exception&) {
    // No thread, no memory or a file that has changed: the load reports what hinders it too.
  }
}

ReadAhead::~ReadAhead() { stop(); }

ReadAhead::Result ReadAhead::stop() {
  if (!impl_) return {};
  impl_->is_stopped.store(true);
  impl_->threads.clear();
  return {impl_->bytes.load(), std::chrono::duration<double>(impl_->end.load()).count()};
}

}  // namespace hiptool::load
