// SPDX-License-Identifier: MIT
#include "hiptool/leaf_verification.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/chunks.hpp"
#include "load/device_digests.hpp"
#include "load/differences.hpp"
#include "load/digest.hpp"
#include "load/slot_digests.hpp"
#include "load/workers.hpp"

namespace hiptool {
namespace {

constexpr std::uint64_t recheck_chunk_bytes = 8u << 20;

// For the time of a load, which needs the other cores.
std::shared_ptr<FileDigests> start_reading(const ModelFile& model, const VerifyOptions& options) {
  const std::uint32_t threads =
      options.threads != 0 ? options.threads : load::choose_threads(1, 16, 2);
  return std::make_shared<FileDigests>(
      model, FileDigests::Options{threads, options.cancel, options.timeline});
}

}  // namespace

struct LeafVerification::Impl final : load::ChunkSink {
  const ModelFile& model;
  const ArenaLayout& layout;
  const Buffer& arena;
  std::shared_ptr<FileDigests> files;  // null: the slots are the reference
  const Impl* original = nullptr;      // whose reference it is, of a copy on another device
  VerifyOptions options;
  load::LeafMap leaves;
  load::DeviceDigests device;
  load::SlotDigests slots;
  std::vector<std::uint64_t> slot_digests;  // where they are the reference
  std::span<const std::uint64_t> expected;
  std::vector<std::uint64_t> never_read;
  std::uint32_t lane = 0;
  std::shared_future<std::vector<std::uint32_t>> order;  // last: its thread uses the model

  Impl(const ModelFile& of, const ArenaLayout& with, const Buffer& in,
       std::shared_ptr<FileDigests> by, const VerifyOptions& chosen)
      : model(of),
        layout(with),
        arena(in),
        files(std::move(by)),
        options(chosen),
        leaves(of),
        device(of, with, leaves, in, chosen.compiler_program, chosen.timeline) {
    if (options.timeline != nullptr)
      lane = options.timeline->add_lane(in.device().id() + " verdict");
    // While the model is loaded: of 100 000 names it takes as long as a tenth of the load.
    if (with.placements.size() != of.tensors().size()) return;  // then somebody joins the parts
    const auto sort_names = [&of] { return load::digest_order(of); };
    try {
      order = std::async(std::launch::async, sort_names).share();
    } catch (const std::system_error&) {  // no thread to be had
      order = std::async(std::launch::deferred, sort_names).share();
    }
  }

  void throw_if_cancelled() const {
    if (options.cancel != nullptr) options.cancel->throw_if_cancelled("verify");
  }

  void on_read(const load::Chunk&, std::span<const std::byte> bytes,
               std::span<const load::Piece> pieces) override {
    if (!files && original == nullptr) slots.add(bytes, pieces);
  }

  void on_queued(const load::Chunk& chunk, const Event* copied) override {
    device.add(chunk, copied);
  }

  TimelineScope scope(std::string_view what) const { return {options.timeline, lane, what}; }

  void take_expected() {
    throw_if_cancelled();
    const auto timer = scope("file digests");
    if (original != nullptr) {
      expected = original->expected;
      never_read = original->never_read;
      return;
    }
    if (!files) {
      slot_digests = slots.collect(model, leaves, never_read);
      expected = slot_digests;
      keep_placed(never_read);
      return;
    }
    expected = files->get();
    if (expected.size() == leaves.count()) return;
    throw Error(ErrorCode::invalid_argument, "verify", "the digests are of another model");
  }

  // What another device gets is not missing here.
  void keep_placed(std::vector<std::uint64_t>& numbers) const {
    std::vector<bool> is_placed(model.tensors().size());
    for (const Placement& placement : layout.placements) is_placed[placement.tensor] = true;
    const auto is_elsewhere = [&](std::uint64_t leaf) {
      const auto next = std::upper_bound(leaves.first.begin(), leaves.first.end(), leaf);
      return !is_placed[static_cast<std::size_t>(next - leaves.first.begin()) - 1];
    };
    numbers.erase(std::remove_if(numbers.begin(), numbers.end(), is_elsewhere), numbers.end());
  }

  VerifyResult compare() {
    const auto start = std::chrono::steady_clock::now();
    const std::span<const std::uint64_t> found = [&] {
      const auto timer = scope("device digests");
      return device.fetch();
    }();
    const auto timer = scope("compare");
    std::vector<std::uint64_t> wrong = never_read;
    VerifyResult result;
    result.tensor_digests.resize(model.tensors().size());
    for (const Placement& placement : layout.placements) {
      const std::uint64_t first = leaves.first[placement.tensor];
      const std::uint64_t end = leaves.first[placement.tensor + 1];
      for (std::uint64_t leaf = first; leaf < end; ++leaf) {
        if (found[leaf] != expected[leaf]) wrong.push_back(leaf);
      }
      result.leaves += end - first;
      result.tensor_digests[placement.tensor] =
          load::tensor_digest(expected.subspan(first, end - first));
    }
    std::sort(wrong.begin(), wrong.end());
    wrong.erase(std::unique(wrong.begin(), wrong.end()), wrong.end());
    result.compared_bytes = layout.tensor_bytes;
    result.mismatch_count = wrong.size();
    std::vector<load::Difference> differences = narrow(wrong);
    result.mismatches = load::join_differences(model, layout, arena.device(), differences);
    if (layout.placements.size() == model.tensors().size()) {
      result.model_digest = load::model_digest(model, order.get(), result.tensor_digests);
    }
    result.duration_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

  // From a wrong leaf to its wrong bytes, as far as a second look at both sides shows them.
  std::vector<load::Difference> narrow(const std::vector<std::uint64_t>& wrong) {
    constexpr std::size_t most = 16 * max_mismatches;  // a run may be many leaves long
    std::vector<load::Difference> differences;
    std::vector<base::File> opened;
    for (const ModelPart& part : model.files()) opened.push_back(base::File::open(part.path));
    std::vector<std::uint64_t> device_offsets(model.tensors().size());
    for (const Placement& placement : layout.placements) {
      device_offsets[placement.tensor] = placement.device_offset;
    }
    for (const std::uint64_t leaf : wrong) {
      if (differences.size() == most) break;
      const auto next = std::upper_bound(leaves.first.begin(), leaves.first.end(), leaf);
      const auto index = static_cast<std::uint32_t>(next - leaves.first.begin() - 1);
      const TensorInfo& tensor = model.tensors()[index];
      const std::uint64_t offset = (leaf - leaves.first[index]) * leaf_bytes;
      const std::uint64_t size_bytes = std::min(leaf_bytes, tensor.size_bytes - offset);
      std::vector<std::byte> want(size_bytes);
      std::vector<std::byte> got(size_bytes);
      opened[tensor.file].read_at(want, tensor.file_offset + offset);
      copy_d2h_and_wait(got, arena.view(device_offsets[index] + offset, size_bytes));
      differences.push_back(want == got ? load::Difference{index, offset / leaf_bytes, offset,
                                                           offset + size_bytes - 1}
                                        : load::locate_difference(index, offset, want, got));
    }
    return differences;
  }
};

LeafVerification::LeafVerification(const ModelFile& model, const ArenaLayout& layout,
                                   const Buffer& arena, Reference reference,
                                   const VerifyOptions& options)
    : LeafVerification(model, layout, arena,
                       reference == Reference::file ? start_reading(model, options) : nullptr,
                       options) {}

LeafVerification::LeafVerification(const ModelFile& model, const ArenaLayout& layout,
                                   const Buffer& arena, std::shared_ptr<FileDigests> files,
                                   const VerifyOptions& options)
    : impl_(std::make_unique<Impl>(model, layout, arena, std::move(files), options)) {}

LeafVerification::LeafVerification(const LeafVerification& original, const Buffer& arena,
                                   const VerifyOptions& options)
    : impl_(std::make_unique<Impl>(original.impl_->model, original.impl_->layout, arena, nullptr,
                                   options)) {
  impl_->original = original.impl_.get();
}

LeafVerification::~LeafVerification() = default;

VerifyResult LeafVerification::finish() {
  impl_->take_expected();
  return impl_->compare();
}

VerifyResult LeafVerification::recheck() {
  for (const load::Chunk& chunk :
       load::cut_chunks(impl_->model, impl_->layout, recheck_chunk_bytes)) {
    impl_->throw_if_cancelled();
    impl_->device.add(chunk, nullptr);
  }
  return impl_->compare();
}

const std::string& LeafVerification::image() const { return impl_->device.image(); }

load::ChunkSink& LeafVerification::sink() noexcept { return *impl_; }

}  // namespace hiptool
