// SPDX-License-Identifier: MIT
#include "load/verify/verification.hpp"
#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/timeline_scope.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/device_work.hpp"
#include "load/layout/blocks.hpp"
#include "load/place/check_arenas.hpp"
#include "load/verify/device_digests.hpp"
#include "load/verify/differences.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/slot_digests.hpp"
#include "model/parts.hpp"

namespace hiptool::load {
namespace {

using Clock = std::chrono::steady_clock;

// Whether both describe the same tensors of the same files; they may have been opened twice.
bool is_same_model(const ModelFile& left, const ModelFile& right) {
  if (left.tensors().data() == right.tensors().data()) return true;
  const auto is_same_file = [](const ModelPart& one, const ModelPart& other) {
    return one.path == other.path && one.size_bytes == other.size_bytes;
  };
  return left.tensors().size() == right.tensors().size() &&
         std::equal(left.files().begin(), left.files().end(), right.files().begin(),
                    right.files().end(), is_same_file);
}

std::vector<bool> find_placed(const ModelFile& model, const LoadPlan& plan) {
  std::vector<bool> is_placed(model.tensors().size());
  for (const DevicePlan& device : plan.devices) {
    for (const Placement& placement : device.layout.placements) is_placed[placement.tensor] = true;
  }
  return is_placed;
}

/// Compares the digests of a device with the file's, tensor by tensor, as they arrive.
class Comparison {
 public:
  Comparison(const ArenaLayout& layout, const BlockMap& blocks) : layout_(layout), blocks_(blocks) {
    tensor_digests_.reserve(layout.placements.size());
  }

  /// `found` are the digests of the device's memory so far, in the order of its layout.
  void advance(std::span<const std::uint64_t> found, std::span<const std::uint64_t> expected) {
    while (tensor_digests_.size() < layout_.placements.size()) {
      const std::uint32_t tensor = layout_.placements[tensor_digests_.size()].tensor;
      const std::uint64_t first = blocks_.first[tensor];
      const std::uint64_t count = blocks_.first[tensor + 1] - first;
      if (found.size() - compared_ < count) return;
      compare(found.subspan(compared_, count), expected.subspan(first, count), first);
      compared_ += count;
    }
  }

  std::uint64_t compared() const noexcept { return compared_; }
  const std::vector<std::uint64_t>& wrong_blocks() const noexcept { return wrong_; }
  /// Of the file's bytes, in the order of the layout; 0 for a tensor with a block that no slot had.
  const std::vector<std::uint64_t>& tensor_digests() const noexcept { return tensor_digests_; }

 private:
  void compare(std::span<const std::uint64_t> found, std::span<const std::uint64_t> expected,
               std::uint64_t first) {
    bool is_read = true;
    if (!std::ranges::equal(found, expected)) {
      for (std::uint64_t i = 0; i < found.size(); ++i) {
        if (found[i] == expected[i]) continue;
        wrong_.push_back(first + i);
        is_read = is_read && expected[i] != 0;
      }
    }
    tensor_digests_.push_back(is_read ? tensor_digest(expected) : 0);
  }

  const ArenaLayout& layout_;
  const BlockMap& blocks_;
  std::uint64_t compared_ = 0;
  std::vector<std::uint64_t> wrong_;
  std::vector<std::uint64_t> tensor_digests_;
};

}  // namespace

struct Verification::Impl {
  const ModelFile model;  // both are copies: what the caller changes later was not checked
  const LoadPlan plan;
  std::vector<Buffer> arenas;
  std::shared_ptr<FileDigests> files;  // null: the slots are the reference
  VerifyOptions options;
  BlockMap blocks;
  std::optional<SlotDigests> slots;                     // without files
  std::vector<std::unique_ptr<DeviceDigests>> devices;  // null: gets no tensors
  std::uint32_t track = 0;
  std::shared_future<std::vector<std::uint32_t>> order;  // last: its thread uses the model

  Impl(const ModelFile& of, const LoadPlan& with, std::span<const Buffer> in,
       std::shared_ptr<FileDigests> by, const VerifyOptions& chosen)
      : model(of),
        plan(with),
        arenas(in.begin(), in.end()),
        files(std::move(by)),
        options(chosen),
        blocks(of),
        devices(with.devices.size()) {
    check_arenas(with, arenas, "verify");
    if (!files) slots.emplace(model, blocks);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const ArenaLayout& layout = plan.devices[i].layout;
      if (layout.placements.empty()) continue;
      devices[i] = std::make_unique<DeviceDigests>(model, layout, arenas[i], options);
    }
    if (options.timeline != nullptr) track = options.timeline->add_track("verdict");
    // While the model is loaded: for 100 000 names it takes as long as a tenth of the load.
    const auto sort_names = [this] { return digest_order(model); };
    try {
      order = std::async(std::launch::async, sort_names).share();
    } catch (const std::system_error&) {  // no thread to be had
      order = std::async(std::launch::deferred, sort_names).share();
    }
  }

  base::TimelineScope scope(std::string_view what) const { return {options.timeline, track, what}; }

  // Whether the digests of the files need no more time.
  bool is_expected_ready() const { return !files || files->wait_for(std::chrono::milliseconds(0)); }

  // Waits for the files; from any thread.
  std::span<const std::uint64_t> expected() const {
    if (options.cancel != nullptr) options.cancel->throw_if_cancelled("verify");
    const std::span<const std::uint64_t> digests = files ? files->get() : slots->digests();
    if (digests.size() == blocks.count()) return digests;
    throw Error(ErrorCode::invalid_argument, "verify", "the digests are of another model");
  }

  using Found = std::vector<std::span<const std::uint64_t>>;  // by device

  Found digest_arenas(std::vector<Comparison>& comparisons) {
    const auto timer = scope("device digests");
    Found found(devices.size());
    std::vector<bool> has_tensors;
    for (const auto& device : devices) has_tensors.push_back(device != nullptr);
    run_for_devices(plan, has_tensors, options.observer,
                    [&](std::size_t i, const std::atomic<bool>&) {
                      found[i] = devices[i]->compute([&](std::span<const std::uint64_t> so_far) {
                        if (is_expected_ready()) comparisons[i].advance(so_far, expected());
                      });
                    });
    return found;
  }

  VerifyResult verify() {
    VerifyResult result;
    const auto start = Clock::now();
    std::vector<Comparison> comparisons;
    for (const DevicePlan& device : plan.devices) comparisons.emplace_back(device.layout, blocks);
    const Found found = digest_arenas(comparisons);
    result.digest_time_s = base::seconds_since(start);
    std::span<const std::uint64_t> wanted;
    {
      const auto timer = scope("file digests");
      wanted = expected();
    }
    const auto timer = scope("compare");
    result.tensor_digests.resize(model.tensors().size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!devices[i]) continue;
      result.digest_kernel_time_s =
          std::max(result.digest_kernel_time_s, devices[i]->kernel_time_s());
      comparisons[i].advance(found[i], wanted);
      result.blocks += found[i].size();
      add(i, comparisons[i], result);
    }
    const auto is_placed = find_placed(model, plan);
    if (std::ranges::all_of(is_placed, [](bool placed) { return placed; })) {
      result.model_digest = model_digest(model, order.get(), result.tensor_digests);
    }
    result.duration_s = base::seconds_since(start);
    return result;
  }

  void add(std::size_t device, const Comparison& comparison, VerifyResult& result) const {
    const ArenaLayout& layout = plan.devices[device].layout;
    for (std::size_t i = 0; i < layout.placements.size(); ++i) {
      result.tensor_digests[layout.placements[i].tensor] = comparison.tensor_digests()[i];
    }
    const std::vector<std::uint64_t>& wrong = comparison.wrong_blocks();
    result.compared_bytes += layout.tensor_bytes;
    result.mismatch_count += wrong.size();
    if (wrong.empty()) return;
    result.wrong_devices.push_back(
        {plan.devices[device].device.id(), comparison.compared(), wrong.size()});
    std::vector<Difference> differences = narrow(device, wrong);
    for (Mismatch& mismatch :
         join_differences(model, layout, plan.devices[device].device, differences)) {
      if (result.mismatches.size() == max_mismatches) break;
      result.mismatches.push_back(std::move(mismatch));
    }
  }

  // From a wrong block to its wrong bytes, as far as a second look at both sides shows them.
  std::vector<Difference> narrow(std::size_t device,
                                 const std::vector<std::uint64_t>& wrong) const {
    constexpr std::size_t most = 16 * max_mismatches;  // a run may be many blocks long
    std::vector<Difference> differences;
    // Bytes of a file that changed meanwhile say nothing about the device.
    const std::vector<base::File> opened = model::open_unchanged(model);
    std::vector<std::uint64_t> device_offsets(model.tensors().size());
    for (const Placement& placement : plan.devices[device].layout.placements) {
      device_offsets[placement.tensor] = placement.device_offset;
    }
    for (const std::uint64_t block : wrong) {
      if (differences.size() == most) break;
      const auto next = std::ranges::upper_bound(blocks.first, block);
      const auto index = static_cast<std::uint32_t>(next - blocks.first.begin() - 1);
      const TensorInfo& tensor = model.tensors()[index];
      const std::uint64_t offset = (block - blocks.first[index]) * block_bytes;
      const std::uint64_t size_bytes = std::min(block_bytes, tensor.size_bytes - offset);
      std::vector<std::byte> want(size_bytes);
      std::vector<std::byte> got(size_bytes);
      opened[tensor.file].read_at(want, tensor.file_offset + offset);
      copy_d2h_and_wait(got, arenas[device].view(device_offsets[index] + offset, size_bytes));
      differences.push_back(
          want == got ? Difference{index, offset / block_bytes, offset, offset + size_bytes - 1}
                      : locate_difference(index, offset, want, got));
    }
    return differences;
  }
};

Verification::Verification(const ModelFile& model, const LoadPlan& plan,
                           std::span<const Buffer> arenas, std::shared_ptr<FileDigests> files,
                           const VerifyOptions& options)
    : impl_(std::make_unique<Impl>(model, plan, arenas, std::move(files), options)) {}

Verification::~Verification() = default;

VerifyResult Verification::finish() { return impl_->verify(); }

std::string Verification::image() const {
  for (const auto& device : impl_->devices) {
    if (device) return device->image();
  }
  return {};
}

void Verification::require(const ModelFile& model, const ArenaLayout& layout,
                           const Buffer& arena) const {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "load", "load: the verification is of " + why,
                "make the verification for the model, layout and arena of this load");
  };
  if (!is_same_model(model, impl_->model)) refuse("another model");
  const auto& parts = impl_->plan.devices;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Buffer& own = impl_->arenas[i];
    const bool is_this =
        own.has_device() && own.device() == arena.device() && own.address() == arena.address();
    if (is_this && is_same_layout(parts[i].layout, layout)) return;
  }
  if (layout.arena_bytes > 0) refuse("another arena or layout");
}

ChunkSink* Verification::sink() noexcept { return impl_->slots ? &*impl_->slots : nullptr; }

}  // namespace hiptool::load
