// SPDX-License-Identifier: MIT
#include "measure/copy/track.hpp"

#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/copy.hpp"

namespace hiptool::measure {
namespace {

// Whole pages, so that the sources of all samples have the same alignment.
constexpr std::uint64_t shift_bytes = 4096;
constexpr std::uint64_t shifts = 256;
constexpr std::uint64_t slack_bytes = shift_bytes * (shifts - 1);

std::uint64_t offset_of(std::uint64_t sample) { return sample % shifts * shift_bytes; }

using hip::Api;

constexpr std::size_t page_bytes = 4096;
constexpr unsigned attach_global =
    1;  // hipMemAttachGlobal: any device may use it (HIP API reference)

}  // namespace

CopyTrack::CopyTrack(const CopySpec& spec, const CopyRoute& route, std::uint32_t seed,
                     ToolBox& tools)
    : route_(route),
      engine_(spec.engine),
      is_split_(spec.is_split()),
      size_bytes_(spec.size_bytes),
      seed_(seed),
      tools_(tools),
      start_(route.executor),
      stop_(route.executor),
      stream_(route.executor) {
  is_split_ ? allocate_both(spec) : allocate(spec);
  if (host_ && engine_ == CopyEngine::kernel) host_address_ = host_->device_address();
}

void CopyTrack::allocate(const CopySpec& spec) {
  if (engine_ == CopyEngine::kernel) tools_.of(route_.executor).require_copy();
  const std::uint64_t source_bytes = size_bytes_ + slack_bytes;
  if (route_.source) {
    source_ = Buffer(*route_.source, source_bytes);
    tools_.of(*route_.source).write(source_, seed_);
  } else {
    host_.emplace(route_.executor, *spec.memory, source_bytes);
    write_pattern(host_->words(), seed_);
  }
  if (route_.destination) {
    destination_ = Buffer(*route_.destination, size_bytes_);
  } else {
    host_.emplace(route_.executor, *spec.memory, size_bytes_);
    // Untouched pages would be allocated during the first copy.
    write_pattern(host_->words(), ~seed_);
  }
}

// Half of each memory is the source of one way, and the other half, in turns of a stretch, the
// destination of the other.
void CopyTrack::allocate_both(const CopySpec& spec) {
  DeviceTools& tools = tools_.of(route_.executor);
  tools.require_copy_both_ways();
  source_ = Buffer(route_.executor, size_bytes_ + slack_bytes);
  tools.write(source_, ~seed_);
  host_.emplace(route_.executor, *spec.memory, size_bytes_ + slack_bytes);
  write_pattern(host_->words(), seed_);
}

CopyTrack::~CopyTrack() { core::settle(stream_); }

void CopyTrack::queue(std::uint64_t sample, std::size_t copies) {
  for (std::size_t i = 0; i < copies; ++i) queue_copy(sample);
  stop_.record(stream_);
}

void CopyTrack::queue_passes(std::uint64_t sample, std::size_t copies) {
  if (engine_ != CopyEngine::kernel) return queue(sample, copies);
  queue_kernel_passes(offset_of(sample), static_cast<std::uint32_t>(copies));
  stop_.record(stream_);
}

void CopyTrack::queue_untimed(std::uint64_t sample, std::size_t copies) {
  const std::uint64_t other = sample + shifts / 2;
  if (engine_ == CopyEngine::kernel) {
    return queue_kernel_passes(offset_of(other), static_cast<std::uint32_t>(copies));
  }
  for (std::size_t i = 0; i < copies; ++i) queue_copy(other);
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
  if (is_split_) return queue_kernel_passes(offset_bytes, 1);
  tools_.of(route_.executor)
      .copy(destination_address(), source_address() + offset_bytes, size_bytes_, stream_);
}

void CopyTrack::queue_kernel_passes(std::uint64_t offset_bytes, std::uint32_t passes) {
  const DeviceTools& tools = tools_.of(route_.executor);
  if (!is_split_) {
    return tools.copy_passes(destination_address(), source_address() + offset_bytes, size_bytes_,
                             passes, stream_);
  }
  auto* const device = static_cast<std::byte*>(source_.address());
  tools.copy_both_ways(route_.source ? device : host_address_,
                       route_.source ? host_address_ : device, size_bytes_, offset_bytes, passes,
                       stream_);
}

const std::byte* CopyTrack::source_address() const {
  return route_.source ? static_cast<const std::byte*>(source_.address()) : host_address_;
}

std::byte* CopyTrack::destination_address() const {
  return route_.destination ? static_cast<std::byte*>(destination_.address()) : host_address_;
}

WrongWords CopyTrack::check(std::uint64_t sample) {
  const std::uint64_t offset_words = offset_of(sample) / sizeof(std::uint32_t);
  const std::uint32_t seed = shifted_seed(seed_, offset_words);
  if (is_split_) return check_both(seed, shifted_seed(~seed_, offset_words));
  if (route_.destination) return tools_.of(*route_.destination).check(destination_, seed);
  return check_pattern(host_->words(), seed);
}

WrongWords CopyTrack::check_both(std::uint32_t from_host, std::uint32_t from_device) {
  DeviceTools& tools = tools_.of(route_.executor);
  // The even stretches are copied from source to destination.
  const bool is_host_even = route_.source.has_value();
  WrongWords found = tools.check_half(source_.view(0, size_bytes_), from_host, is_host_even);
  found.add(check_half_pattern(host_->words().first(size_bytes_ / sizeof(std::uint32_t)),
                               from_device, tools.stretch_bytes() / sizeof(std::uint32_t),
                               !is_host_even));
  return found;
}

HostBlock::HostBlock(const Device& device, HostKind kind, std::size_t size_bytes)
    : device_(device), kind_(kind) {
  if (kind == HostKind::pinned) {
    pinned_.emplace(device, size_bytes);
    bytes_ = pinned_->bytes();
    return;
  }
  if (kind == HostKind::managed) {
    allocate_managed(size_bytes);
    return;
  }
  pageable_.reset(
      std::aligned_alloc(page_bytes, (size_bytes + page_bytes - 1) & ~(page_bytes - 1)));
  if (!pageable_) {
    throw Error(ErrorCode::host_out_of_memory, "allocate",
                "no " + format_size(size_bytes) + " of host memory", "use a smaller --size");
  }
  bytes_ = {static_cast<std::byte*>(pageable_.get()), size_bytes};
  if (kind == HostKind::registered) registered_.emplace(device, bytes_);
}

HostBlock::~HostBlock() {
  if (kind_ != HostKind::managed) return;
  const core::QuietDeviceGuard guard(device_);
  core::release<&Api::hipFree>(device_, static_cast<void*>(bytes_.data()));
}

void HostBlock::allocate_managed(std::size_t size_bytes) {
  const DeviceGuard guard(device_);
  void* memory = nullptr;
  core::call<&Api::hipMallocManaged>(device_, format_size(size_bytes), &memory, size_bytes,
                                     attach_global);
  bytes_ = {static_cast<std::byte*>(memory), size_bytes};
}

std::span<std::uint32_t> HostBlock::words() const noexcept {
  return {reinterpret_cast<std::uint32_t*>(bytes_.data()), bytes_.size() / sizeof(std::uint32_t)};
}

std::byte* HostBlock::device_address() const {
  if (kind_ == HostKind::managed) return bytes_.data();
  const DeviceGuard guard(device_);
  void* address = nullptr;
  core::call<&Api::hipHostGetDevicePointer>(device_, "host memory", &address,
                                            static_cast<void*>(bytes_.data()), 0u);
  return static_cast<std::byte*>(address);
}

}  // namespace hiptool::measure
