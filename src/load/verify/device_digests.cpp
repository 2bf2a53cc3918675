// SPDX-License-Identifier: MIT
#include "load/verify/device_digests.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
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

std::uint64_t count_blocks(const ModelFile& model, const ArenaLayout& layout) {
  std::uint64_t count = 0;
  for (const Placement& placement : layout.placements) {
    count += (model.tensors()[placement.tensor].size_bytes + block_bytes - 1) / block_bytes;
  }
  return count;
}

}  // namespace

DeviceDigests::DeviceDigests(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                             const VerifyOptions& options)
    : model_(model),
      layout_(layout),
      arena_(arena),
      options_(options),
      list_(arena.device(), count_blocks(model, layout) * sizeof(std::uint64_t)),
      launch_blocks_(arena.device().is_host_memory() ? processor_blocks
                                                     : std::numeric_limits<std::uint64_t>::max()) {
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
  for (const Stream& stream : streams_) core::settle(stream);
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
    start_.emplace(device);
    stop_.emplace(device);
  }
  digester_.emplace(std::move(digester));
}

void DeviceDigests::digest_piece(std::size_t stream, std::uint64_t first_block) {
  const StreamRef& on = streams_[stream];
  const std::uint64_t count = std::min(launch_blocks_, digests_.size() - first_block);
  std::size_t piece = 0;
  if (trace_) piece = trace_->begin(stream, "digest", count * block_bytes);
  if (start_) start_->record(on);
  digester_->digest(*table_, first_block, first_block + count, list_, on);
  if (stop_) stop_->record(on);
  if (trace_) trace_->end(piece);
  on.synchronize();
}

std::span<const std::uint64_t> DeviceDigests::compute() {
  prepared_.get();
  if (digests_.empty()) return {};
  const std::uint64_t pieces = (digests_.size() - 1) / launch_blocks_ + 1;
  std::atomic<std::uint64_t> next{0};
  try {
    run_workers(static_cast<std::uint32_t>(std::min<std::uint64_t>(streams_.size(), pieces)),
                [&](std::uint32_t stream, const std::atomic<bool>& stop) {
                  for (std::uint64_t i = next++; i < pieces && !stop.load(); i = next++) {
                    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("verify");
                    digest_piece(stream, i * launch_blocks_);
                  }
                });
    copy_d2h(std::as_writable_bytes(std::span(digests_)), list_, streams_.front());
    streams_.front().synchronize();
  } catch (...) {
    for (const Stream& stream : streams_) core::settle(stream);
    throw;
  }
  if (stop_) kernel_time_s_ = stop_->elapsed_s(*start_);
  if (trace_) trace_->finish();
  return digests_;
}

const std::string& DeviceDigests::image() const {
  prepared_.get();
  return digester_->image();
}

}  // namespace hiptool::load
