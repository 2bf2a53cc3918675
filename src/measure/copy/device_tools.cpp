// SPDX-License-Identifier: MIT
#include "measure/copy/device_tools.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "ops/backend_kernels.hpp"

namespace hiptool::measure {
namespace {

constexpr std::uint32_t threads_per_block = 256;
constexpr std::uint32_t threads_both_ways = 1024;
// As nvbandwidth's kernel for copies from this size on (common.h, kernels.cu): a block on each
// processor, whose threads copy all; smaller copies have a thread for each 16 bytes.
constexpr std::uint32_t threads_of_passes = 512;
constexpr std::size_t least_strided_bytes = std::size_t{64} << 20;
constexpr std::uint64_t wide_bytes = 16;
constexpr std::uint64_t blocks_per_unit = 16;
constexpr std::uint64_t unknown_units = 64;
constexpr std::size_t result_bytes = 3 * sizeof(std::uint64_t);
constexpr std::size_t word_bytes = sizeof(std::uint32_t);
constexpr std::size_t staged_words = std::size_t{4} << 20;

bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % wide_bytes == 0;
}

// Whether a kernel can copy units of 16 bytes.
bool is_wide(const std::byte* destination, const std::byte* source, std::size_t size_bytes) {
  return size_bytes % wide_bytes == 0 && is_aligned(destination) && is_aligned(source);
}

// Calls work(first word, words to stage, part of the buffer, its seed) for each piece.
template <class Work>
void by_pieces(const Buffer& buffer, std::uint32_t seed, const Work& work) {
  const std::size_t count = buffer.size_bytes() / word_bytes;
  std::vector<std::uint32_t> staged(std::min(count, staged_words));
  for (std::size_t begin = 0; begin < count; begin += staged.size()) {
    const std::span<std::uint32_t> words(staged.data(), std::min(staged.size(), count - begin));
    Buffer part = buffer.view(begin * word_bytes, words.size_bytes());
    work(begin, words, part, shifted_seed(seed, begin));
  }
}

}  // namespace

DeviceTools::DeviceTools(const Device& device)
    : device_((device.start(), device)),
      stream_(device),
      result_(device, result_bytes),
      host_result_(device, result_bytes) {
  compute_units_ = device.info().compute_units.value_or(unknown_units);
  if (device.info().warp_size == 64) lanes_ = 64;
  const Backend backend = Backend::borrow_stream(stream_);
  write_ = find(backend, "hiptool_pattern_write");
  check_ = find(backend, "hiptool_pattern_check");
  check_half_ = find(backend, "hiptool_pattern_check_stretches");
  copy_both_ways_ = find(backend, "hiptool_copy_both_ways");
  copy_16_ = find(backend, "hiptool_copy_16");
  copy_1_ = find(backend, "hiptool_copy_1");
  copy_16_passes_ = find(backend, "hiptool_copy_16_passes");
  if (device.platform() != Platform::cpu) gate_ = find(backend, "hiptool_gate");
}

std::optional<Kernel> DeviceTools::find(const Backend& backend, const char* name) {
  try {
    return ops::kernel_of(backend, name);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    missing_ = error.what();
    return {};
  }
}

std::uint32_t DeviceTools::blocks_for(std::uint64_t count) const {
  const std::uint64_t needed = (count + threads_per_block - 1) / threads_per_block;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(needed, 1, compute_units_ * blocks_per_unit));
}

void DeviceTools::write(const Buffer& buffer, std::uint32_t seed) {
  if (!write_) return write_by_host(buffer, seed);
  const std::uint64_t count = buffer.size_bytes() / word_bytes;
  launch(*write_, {{blocks_for(count)}, {threads_per_block}}, stream_, buffer, count, seed);
  stream_.synchronize();
}

// Of `count` words, whose seed is the first argument after it.
template <class... Arguments>
WrongWords DeviceTools::run_check(const Kernel& kernel, const Buffer& buffer, std::uint64_t count,
                                  const Arguments&... arguments) {
  std::uint64_t result[3] = {0, ~std::uint64_t{0}, 0};
  std::memcpy(host_result_.data(), result, result_bytes);
  copy_h2d(result_, host_result_.bytes(), stream_);
  launch(kernel, {{blocks_for(count)}, {threads_per_block}}, stream_, buffer, count, arguments...,
         result_);
  copy_d2h(host_result_.bytes(), result_, stream_);
  stream_.synchronize();
  std::memcpy(result, host_result_.data(), result_bytes);
  return {result[0], result[1], static_cast<std::uint32_t>(result[2])};
}

WrongWords DeviceTools::check(const Buffer& buffer, std::uint32_t seed) {
  if (!check_) return check_by_host(buffer, seed);
  return run_check(*check_, buffer, buffer.size_bytes() / word_bytes, seed);
}

WrongWords DeviceTools::check_half(const Buffer& buffer, std::uint32_t seed, bool is_odd) {
  require(check_half_);
  const auto stretch = static_cast<std::uint32_t>(stretch_bytes() / word_bytes);
  return run_check(*check_half_, buffer, buffer.size_bytes() / word_bytes / 2, seed, stretch,
                   is_odd ? stretch : 0);
}

void DeviceTools::write_by_host(const Buffer& buffer, std::uint32_t seed) const {
  by_pieces(buffer, seed,
            [](std::size_t, std::span<std::uint32_t> words, Buffer& part, std::uint32_t at) {
              write_pattern(words, at);
              copy_h2d_and_wait(part, std::as_bytes(words));
            });
}

WrongWords DeviceTools::check_by_host(const Buffer& buffer, std::uint32_t seed) const {
  WrongWords all;
  by_pieces(
      buffer, seed,
      [&](std::size_t begin, std::span<std::uint32_t> words, const Buffer& part, std::uint32_t at) {
        copy_d2h_and_wait(std::as_writable_bytes(words), part);
        all.add(check_pattern(words, at), begin);
      });
  return all;
}

void DeviceTools::require(const std::optional<Kernel>& kernel) const {
  if (kernel) return;
  throw Error(ErrorCode::unsupported, "copy by kernel",
              "no copy kernel for " + device_.id() + ": " + missing_);
}

void DeviceTools::require_copy() const {
  require(copy_16_);
  require(copy_1_);
  require(copy_16_passes_);
}

void DeviceTools::require_copy_both_ways() const {
  require(copy_both_ways_);
  require(check_half_);
}

void DeviceTools::copy_both_ways(std::byte* here, std::byte* there, std::size_t size_bytes,
                                 std::size_t shift_bytes, std::uint32_t passes,
                                 const StreamRef& stream) const {
  require(copy_both_ways_);
  const std::uint64_t count = size_bytes / wide_bytes;
  const auto blocks =
      static_cast<std::uint32_t>((count + threads_both_ways - 1) / threads_both_ways);
  launch(*copy_both_ways_, {{blocks}, {threads_both_ways}}, stream, static_cast<void*>(here),
         static_cast<void*>(there), count, std::uint64_t{shift_bytes / wide_bytes}, lanes_, passes);
}

void DeviceTools::copy_passes(std::byte* destination, const std::byte* source,
                              std::size_t size_bytes, std::uint32_t passes,
                              const StreamRef& stream) const {
  require_copy();
  if (!is_wide(destination, source, size_bytes)) {
    for (std::uint32_t i = 0; i < passes; ++i) copy(destination, source, size_bytes, stream);
    return;
  }
  const std::uint64_t count = size_bytes / wide_bytes;
  const std::uint64_t blocks = size_bytes < least_strided_bytes
                                   ? (count + threads_of_passes - 1) / threads_of_passes
                                   : compute_units_;
  launch(*copy_16_passes_, {{static_cast<std::uint32_t>(blocks)}, {threads_of_passes}}, stream,
         static_cast<const void*>(source), static_cast<void*>(destination), count, passes);
}

void DeviceTools::copy(std::byte* destination, const std::byte* source, std::size_t size_bytes,
                       const StreamRef& stream) const {
  require_copy();
  const bool by_units = is_wide(destination, source, size_bytes);
  const std::uint64_t count = by_units ? size_bytes / wide_bytes : size_bytes;
  launch(by_units ? *copy_16_ : *copy_1_, {{blocks_for(count)}, {threads_per_block}}, stream,
         static_cast<const void*>(source), static_cast<void*>(destination), count);
}

DeviceTools& ToolBox::of(const Device& device) {
  auto& tools = tools_[device.id()];
  if (!tools) tools = std::make_unique<DeviceTools>(device);
  return *tools;
}

}  // namespace hiptool::measure
