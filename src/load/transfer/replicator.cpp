// SPDX-License-Identifier: MIT
#include "load/transfer/replicator.hpp"

#include <exception>

#include "core/call.hpp"
#include "hiptool/copy.hpp"

namespace hiptool::load {

Replicator::Copier::Copier(const Target& to)
    : target(to), stream(to.arena.device()), first(to.arena.device()), last(to.arena.device()) {}

void Replicator::Copier::start() {
  if (has_started) return;
  first.record(stream);
  has_started = true;
}

Replicator::Replicator(const Buffer& original, ChunkSink* sink, std::span<const Target> targets)
    : original_(original), sink_(sink) {
  for (const Target& target : targets) copiers_.push_back(std::make_unique<Copier>(target));
}

Replicator::~Replicator() {
  for (const auto& copier : copiers_) core::settle(copier->stream);
}

void Replicator::before_fill(std::span<const std::byte> slot) {
  if (sink_ != nullptr) sink_->before_fill(slot);
  for (const auto& copier : copiers_) {
    const Event* read = nullptr;
    {
      const std::lock_guard lock(copier->mutex);
      const auto found = copier->read.find(slot.data());
      if (found != copier->read.end()) read = &found->second;
    }
    // Only this thread has the slot, so nobody records the event meanwhile.
    if (read != nullptr) read->synchronize();
  }
}

void Replicator::on_part(std::span<const std::byte> bytes, const Piece& part) {
  if (sink_ != nullptr) sink_->on_part(bytes, part);
}

void Replicator::on_read(const base::ByteRange& chunk, std::span<const std::byte> bytes) {
  if (sink_ != nullptr) sink_->on_read(chunk, bytes);
  for (const auto& copier : copiers_) {
    if (copier->target.reaches_original) continue;
    const std::lock_guard lock(copier->mutex);
    const Device& device = copier->stream.device();
    auto read = copier->read.find(bytes.data());
    if (read == copier->read.end()) {
      read = copier->read.emplace(bytes.data(), Event(device, Event::Kind::ordering, true)).first;
    }
    copier->start();
    copy_h2d(copier->target.arena.view(chunk.offset, chunk.size_bytes), bytes, copier->stream);
    read->second.record(copier->stream);
  }
}

void Replicator::on_queued(const base::ByteRange& chunk, const Event* copied) {
  for (const auto& copier : copiers_) {
    if (!copier->target.reaches_original) continue;
    const std::lock_guard lock(copier->mutex);
    if (copied != nullptr) copier->stream.wait(*copied);
    copier->start();
    copy_peer(copier->target.arena.view(chunk.offset, chunk.size_bytes),
              original_.view(chunk.offset, chunk.size_bytes), copier->stream);
  }
  if (sink_ != nullptr) sink_->on_queued(chunk, copied);
}

void Replicator::finish() {
  std::exception_ptr failure;
  for (const auto& copier : copiers_) {
    try {
      if (copier->has_started) copier->last.record(copier->stream);
      copier->stream.synchronize();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

double Replicator::copy_time_s(std::size_t target) const {
  const Copier& copier = *copiers_[target];
  return copier.has_started ? copier.last.elapsed_s(copier.first) : 0;
}

}  // namespace hiptool::load
