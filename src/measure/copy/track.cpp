// SPDX-License-Identifier: MIT
#include "measure/copy/track.hpp"

#include "core/call.hpp"
#include "hiptool/copy.hpp"

namespace hiptool::measure {
namespace {

// Page by page, so that every sample's source has the same alignment.
constexpr std::uint64_t shift_bytes = 4096;
constexpr std::uint64_t shifts = 256;
constexpr std::uint64_t slack_bytes = shift_bytes * (shifts - 1);

std::uint64_t offset_of(std::uint64_t sample) { return sample % shifts * shift_bytes; }

}  // namespace

CopyTrack::CopyTrack(const CopySpec& spec, const CopyRoute& route, std::uint32_t seed,
                     ToolBox& tools)
    : route_(route),
      engine_(spec.engine),
      size_bytes_(spec.size_bytes),
      seed_(seed),
      tools_(tools),
      start_(route.executor),
      stop_(route.executor),
      stream_(route.executor) {
  if (engine_ == CopyEngine::kernel) tools.of(route.executor).require_copy();
  const std::uint64_t source_bytes = size_bytes_ + slack_bytes;
  if (route.source) {
    source_ = Buffer(*route.source, source_bytes);
    tools.of(*route.source).write(source_, seed_);
  } else {
    host_.emplace(route.executor, *spec.memory, source_bytes);
    write_pattern(host_->words(), seed_);
  }
  if (route.destination) {
    destination_ = Buffer(*route.destination, size_bytes_);
  } else {
    host_.emplace(route.executor, *spec.memory, size_bytes_);
    // Pages that nothing was written to yet would be made within the first copy.
    write_pattern(host_->words(), ~seed_);
  }
  if (host_ && engine_ == CopyEngine::kernel) host_address_ = host_->device_address();
}

CopyTrack::~CopyTrack() { core::settle(stream_); }

void CopyTrack::queue(std::uint64_t sample, std::size_t copies) {
  for (std::size_t i = 0; i < copies; ++i) queue_copy(sample);
  stop_.record(stream_);
}

void CopyTrack::queue_copy(std::uint64_t sample) {
  const std::uint64_t offset = offset_of(sample);
  if (engine_ == CopyEngine::kernel) return queue_by_kernel(offset);
  queue_by_engine(offset);
}

void CopyTrack::queue_by_engine(std::uint64_t offset_bytes) {
  if (!route_.source) {
    return copy_h2d(destination_, host_->bytes().subspan(offset_bytes, size_bytes_), stream_);
  }
  const Buffer source = source_.view(offset_bytes, size_bytes_);
  if (!route_.destination) return copy_d2h(host_->bytes(), source, stream_);
  if (*route_.source == *route_.destination) return copy_d2d(destination_, source, stream_);
  copy_peer(destination_, source, stream_);
}

void CopyTrack::queue_by_kernel(std::uint64_t offset_bytes) {
  const std::byte* source =
      route_.source ? static_cast<const std::byte*>(source_.address()) : host_address_;
  std::byte* destination =
      route_.destination ? static_cast<std::byte*>(destination_.address()) : host_address_;
  tools_.of(route_.executor).copy(destination, source + offset_bytes, size_bytes_, stream_);
}

WrongWords CopyTrack::check(std::uint64_t sample) {
  const std::uint32_t seed = shifted_seed(seed_, offset_of(sample) / sizeof(std::uint32_t));
  if (route_.destination) return tools_.of(*route_.destination).check(destination_, seed);
  return check_pattern(host_->words(), seed);
}

}  // namespace hiptool::measure
