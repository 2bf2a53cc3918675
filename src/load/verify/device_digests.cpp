// SPDX-License-Identifier: MIT
#include "load/verify/device_digests.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "kernel_store/images.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "load/verify/kernel_compiling.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

// 8 MiB for a core of the processor: long enough to hide the cost of a launch, short enough that
// all cores end together and that Ctrl-C is seen at once.
constexpr std::uint64_t processor_blocks = (8u << 20) / block_bytes;
constexpr std::uint32_t most_processor_streams = 64;
// Of a GPU: after the last launch a sixth of the digests is still to be copied and compared. Below
// 32 MiB a launch and its copy cost as much as the kernel.
constexpr std::uint64_t gpu_launches = 6;
constexpr std::uint64_t least_gpu_blocks = (32u << 20) / block_bytes;

std::uint64_t count_blocks(const ModelFile& model, const ArenaLayout& layout) {
  std::uint64_t count = 0;
  for (const Placement& placement : layout.placements) {
    count += (model.tensors()[placement.tensor].size_bytes + block_bytes - 1) / block_bytes;
  }
  return count;
}

}  // namespace

std::uint64_t launch_blocks(bool is_host_memory, std::uint64_t blocks) noexcept {
  if (is_host_memory) return processor_blocks;
  return std::max((blocks + gpu_launches - 1) / gpu_launches, least_gpu_blocks);
}

DeviceDigests::DeviceDigests(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                             const VerifyOptions& options)
    : model_(model),
      layout_(layout),
      arena_(arena),
      options_(options),
      list_(arena.device(), count_blocks(model, layout) * sizeof(std::uint64_t)),
      launch_blocks_(launch_blocks(arena.device().is_host_memory(),
                                   list_.size_bytes() / sizeof(std::uint64_t))) {
  const Device& device = arena.device();
  const std::uint32_t streams =
      device.is_host_memory() ? choose_threads(1, most_processor_streams, 1) : 1;
  for (std::uint32_t i = 0; i < streams; ++i) streams_.emplace_back(device);
  if (options.timeline != nullptr) {
    trace_.emplace(*options.timeline, std::vector<StreamRef>(streams_.begin(), streams_.end()),
                   "device digests");
  }
  const bool has_image =
      kernel_store::choose_image("digest", device.platform(), device.info().arch).has_value();
  // Only compiling shows whether there is a kernel at all, and the caller needs to know that before
  // the load.
  const auto policy = has_image ? std::launch::async : std::launch::deferred;
  try {
    prepared_ = std::async(policy, [this] { prepare(); }).share();
  } catch (const std::system_error&) {  // no thread to be had
    prepared_ = std::async(std::launch::deferred, [this] { prepare(); }).share();
  }
  if (!has_image) prepared_.get();
}

DeviceDigests::~DeviceDigests() {
  prepared_.wait();
  settle();
}

void DeviceDigests::settle() const noexcept {
  for (const Stream& stream : streams_) core::settle(stream);
  if (copies_) core::settle(*copies_);
}

void DeviceDigests::prepare() {
  const Device& device = arena_.device();
  kernel_store::KernelLoader loader(
      device, loader_options(device, options_.compiler_program, options_.cancel));
  kernel_store::BlockDigester digester(loader);
  std::vector<kernel_store::DigestRange> ranges;
  ranges.reserve(layout_.placements.size());
  for (const Placement& placement : layout_.placements) {
    ranges.push_back({placement.device_offset, model_.tensors()[placement.tensor].size_bytes});
  }
  table_.emplace(arena_, ranges);
  // Touched during the load, because touching takes longer than filling.
  digests_.resize(table_->block_count());
  if (!device.is_host_memory()) {
    copies_.emplace(device);
    for (std::uint64_t i = 0; i < count_pieces(); ++i) {
      done_.emplace_back(device, Event::Kind::ordering);
    }
    start_.emplace(device);
    stop_.emplace(device);
  }
  digester_.emplace(std::move(digester));
}

std::uint64_t DeviceDigests::count_pieces() const {
  return (digests_.size() + launch_blocks_ - 1) / launch_blocks_;
}

std::uint64_t DeviceDigests::end_of_piece(std::uint64_t piece) const {
  return std::min<std::uint64_t>((piece + 1) * launch_blocks_, digests_.size());
}

void DeviceDigests::queue_piece(std::size_t stream, std::uint64_t piece) {
  if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("verify");
  const std::uint64_t first = piece * launch_blocks_;
  const std::uint64_t end = end_of_piece(piece);
  std::size_t traced = 0;
  if (trace_) traced = trace_->begin(stream, "digest", (end - first) * block_bytes);
  digester_->digest(*table_, first, end, list_, streams_[stream]);
  if (trace_) trace_->end(traced);
}

void DeviceDigests::compute_on_processor() {
  const std::uint64_t pieces = count_pieces();
  std::atomic<std::uint64_t> next{0};
  run_workers(static_cast<std::uint32_t>(std::min<std::uint64_t>(streams_.size(), pieces)),
              [&](std::uint32_t stream, const std::atomic<bool>& stop) {
                for (std::uint64_t i = next++; i < pieces && !stop.load(); i = next++) {
                  queue_piece(stream, i);
                  streams_[stream].synchronize();
                }
              });
  copy_d2h(std::as_writable_bytes(std::span(digests_)), list_, streams_.front());
  streams_.front().synchronize();
}

void DeviceDigests::compute_on_gpu(const OnDigests& on_digests) {
  const Stream& stream = streams_.front();
  start_->record(stream);
  for (std::uint64_t i = 0; i < count_pieces(); ++i) {
    queue_piece(0, i);
    done_[i].record(stream);
  }
  stop_->record(stream);
  const std::span<std::uint64_t> all(digests_);
  for (std::uint64_t i = 0; i < count_pieces(); ++i) {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("verify");
    const std::uint64_t first = i * launch_blocks_;
    const auto piece = std::as_writable_bytes(all.subspan(first, end_of_piece(i) - first));
    done_[i].synchronize();
    copy_d2h(piece, list_.view(first * sizeof(std::uint64_t), piece.size()), *copies_);
    copies_->synchronize();
    if (on_digests) on_digests(all.first(end_of_piece(i)));
  }
  stop_->synchronize();
  kernel_time_s_ = stop_->elapsed_s(*start_);
}

std::span<const std::uint64_t> DeviceDigests::compute(const OnDigests& on_digests) {
  prepared_.get();
  if (digests_.empty()) return {};
  try {
    if (copies_) {
      compute_on_gpu(on_digests);
    } else {
      compute_on_processor();
      if (on_digests) on_digests(digests_);
    }
  } catch (...) {
    settle();
    throw;
  }
  if (trace_) trace_->finish();
  return digests_;
}

const std::string& DeviceDigests::image() const {
  prepared_.get();
  return digester_->image();
}

}  // namespace hiptool::load
