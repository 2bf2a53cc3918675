// SPDX-License-Identifier: MIT
#include "load/device_digests.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "kernels/images.hpp"
#include "kernels/kernel_loader.hpp"
#include "load/kernel_compiling.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

// Chunks for which kernels are launched at once on a GPU: each launch keeps the readers that send
// their copies meanwhile waiting, and the last ones take microseconds.
constexpr std::size_t launched_at_once = 8;

kernels::LeafDigester make_digester(const Device& device, const std::string& compiler_program) {
  kernels::KernelLoader loader(device, loader_options(device, compiler_program));
  return kernels::LeafDigester(loader);
}

std::uint64_t leaf_count(std::uint64_t size_bytes) {
  return (size_bytes + leaf_bytes - 1) / leaf_bytes;
}

// The number of the first leaf of each placement, and of all.
std::vector<std::uint64_t> number_leaves(const ModelFile& model, const ArenaLayout& layout) {
  std::vector<std::uint64_t> first{0};
  for (const Placement& placement : layout.placements) {
    first.push_back(first.back() + leaf_count(model.tensors()[placement.tensor].size_bytes));
  }
  return first;
}

}  // namespace

DeviceDigests::DeviceDigests(const ModelFile& model, const ArenaLayout& layout,
                             const LeafMap& leaves, const Buffer& arena,
                             const std::string& compiler_program, Timeline* timeline)
    : model_(model),
      layout_(layout),
      leaves_(leaves),
      arena_(arena),
      compiler_program_(compiler_program),
      first_leaf_(number_leaves(model, layout)),
      list_(arena.device(), first_leaf_.back() * sizeof(std::uint64_t)),
      least_waiting_(arena.device().is_host_memory() ? 1 : launched_at_once) {
  const Device& device = arena.device();
  const std::uint32_t streams = device.is_host_memory() ? choose_threads(1, 16, 2) : 1;
  for (std::uint32_t i = 0; i < streams; ++i) streams_.emplace_back(device, Stream::Priority::low);
  if (timeline != nullptr) {
    trace_.emplace(*timeline, std::vector<StreamRef>(streams_.begin(), streams_.end()),
                   "device digests");
  }
  const bool has_image =
      kernels::choose_image("digest", device.platform(), device.info().arch).has_value();
  // Whether a kernel can be compiled is known only afterwards, and the caller is to know it before
  // he loads.
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
  kernels::LeafDigester digester = make_digester(arena_.device(), compiler_program_);
  std::vector<kernels::DigestRange> ranges;
  ranges.reserve(layout_.placements.size());
  for (const Placement& placement : layout_.placements) {
    ranges.push_back({placement.device_offset, model_.tensors()[placement.tensor].size_bytes});
  }
  kernels::DigestTable table(arena_, ranges);
  // Touched now, beside the load, because touching takes longer than all that fetch() does.
  listed_.resize(first_leaf_.back());
  const auto& placements = layout_.placements;
  const auto is_before = [](const Placement& left, const Placement& right) {
    return left.tensor < right.tensor;
  };
  if (placements.size() != model_.tensors().size() ||
      !std::is_sorted(placements.begin(), placements.end(), is_before)) {
    ordered_.resize(leaves_.count());
  }
  const std::lock_guard lock(mutex_);
  table_.emplace(std::move(table));
  digester_.emplace(std::move(digester));
  if (waiting_.size() >= least_waiting_) launch_waiting();
}

// Number of the first leaf that begins at or behind the offset.
std::uint64_t DeviceDigests::leaves_before(std::uint64_t device_offset) const {
  const auto& placements = layout_.placements;
  const auto next = std::partition_point(
      placements.begin(), placements.end(),
      [&](const Placement& placement) { return placement.device_offset < device_offset; });
  if (next == placements.begin()) return 0;
  const auto place = static_cast<std::size_t>(next - placements.begin()) - 1;
  return std::min(first_leaf_[place] + leaf_count(device_offset - placements[place].device_offset),
                  first_leaf_[place + 1]);
}

void DeviceDigests::add(const Chunk& chunk, const Event* copied) {
  const std::lock_guard lock(mutex_);
  const Leaves leaves{next_stream_++ % streams_.size(), leaves_before(chunk.begin),
                      leaves_before(chunk.end)};
  if (leaves.begin == leaves.end) return;
  // The stream takes note of the event's present record, kernel or no kernel: afterwards the slot
  // may be filled and its event recorded anew, or be gone.
  if (copied != nullptr) streams_[leaves.stream].wait(*copied);
  waiting_.push_back(leaves);
  if (digester_ && waiting_.size() >= least_waiting_) launch_waiting();
}

// Neighbours share a launch: the first of them may come when many chunks have arrived.
void DeviceDigests::launch_waiting() {
  std::sort(waiting_.begin(), waiting_.end(), [](const Leaves& left, const Leaves& right) {
    return std::pair(left.stream, left.begin) < std::pair(right.stream, right.begin);
  });
  for (std::size_t i = 0; i < waiting_.size();) {
    Leaves run = waiting_[i++];
    const auto continues = [&](const Leaves& next) {
      return next.stream == run.stream && next.begin == run.end;
    };
    while (i < waiting_.size() && continues(waiting_[i])) run.end = waiting_[i++].end;
    std::size_t piece = 0;
    if (trace_) piece = trace_->begin(run.stream, "digest", (run.end - run.begin) * leaf_bytes);
    digester_->digest(*table_, run.begin, run.end, list_, streams_[run.stream]);
    if (trace_) trace_->end(piece);
  }
  waiting_.clear();
}

std::span<const std::uint64_t> DeviceDigests::fetch() {
  prepared_.get();
  const std::lock_guard lock(mutex_);
  launch_waiting();
  const Stream& stream = streams_.front();
  try {
    for (std::size_t i = 1; i < streams_.size(); ++i) streams_[i].synchronize();
    copy_d2h(std::as_writable_bytes(std::span(listed_)), list_, stream);
    stream.synchronize();
    if (trace_) trace_->finish();
  } catch (...) {
    core::settle(stream);
    throw;
  }
  return in_order();
}

std::span<const std::uint64_t> DeviceDigests::in_order() {
  if (ordered_.empty()) return listed_;
  for (std::size_t place = 0; place < layout_.placements.size(); ++place) {
    const auto from = listed_.begin() + static_cast<std::ptrdiff_t>(first_leaf_[place]);
    const auto count = static_cast<std::ptrdiff_t>(first_leaf_[place + 1] - first_leaf_[place]);
    const std::uint64_t first = leaves_.first[layout_.placements[place].tensor];
    std::copy(from, from + count, ordered_.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return ordered_;
}

const std::string& DeviceDigests::image() const {
  prepared_.get();
  return digester_->image();
}

}  // namespace hiptool::load
