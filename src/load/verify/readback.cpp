// SPDX-License-Identifier: MIT
#include "load/verify/readback.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

#include "base/file.hpp"
#include "base/text.hpp"
#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "load/verify/differences.hpp"
#include "load/verify/digest.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t job_bytes = 8u << 20;
static_assert(job_bytes % block_bytes == 0, "a block never spans two jobs");

// Bytes of one tensor inside a job.
struct Share {
  std::uint32_t tensor = 0;
  std::uint64_t tensor_offset = 0;
  base::ByteRange in_arena;
};

// A range of the arena that is read back with one copy.
struct Job {
  base::ByteRange in_arena;
  std::size_t first_share = 0;
  std::size_t share_count = 0;
};

struct Work {
  std::vector<Share> shares;
  std::vector<Job> jobs;
};

// Cuts large tensors at block boundaries and joins small neighbours, so that neither many small
// tensors nor one large one costs more than its bytes.
Work divide(const ModelFile& model, const ArenaLayout& layout) {
  Work work;
  for (const Placement& placement : layout.placements) {
    const std::uint64_t size = model.tensors()[placement.tensor].size_bytes;
    for (std::uint64_t offset = 0; offset < size; offset += job_bytes) {
      const Share share{placement.tensor,
                        offset,
                        {placement.device_offset + offset, std::min(job_bytes, size - offset)}};
      const std::uint64_t end = share.in_arena.end();
      const bool joins = !work.jobs.empty() && end - work.jobs.back().in_arena.offset <= job_bytes;
      if (!joins) work.jobs.push_back({share.in_arena, work.shares.size(), 0});
      Job& job = work.jobs.back();
      job.in_arena.size_bytes = end - job.in_arena.offset;
      ++job.share_count;
      work.shares.push_back(share);
    }
  }
  return work;
}

class Verifier {
 public:
  Verifier(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
           const VerifyOptions& options)
      : model_(model),
        layout_(layout),
        arena_(arena),
        options_(options),
        work_(divide(model, layout)),
        block_digests_(model.tensors().size()) {
    // A reader of its own: opened again, offsets straight from the parsed header.
    for (const ModelPart& part : model.files()) files_.push_back(base::File::open(part.path));
    for (const Placement& placement : layout.placements) {
      const std::uint64_t size_bytes = model.tensors()[placement.tensor].size_bytes;
      block_digests_[placement.tensor].resize((size_bytes + block_bytes - 1) / block_bytes);
    }
  }

  void run() {
    const std::uint32_t wanted =
        options_.threads != 0 ? options_.threads : choose_threads(1, 16, 1);
    const auto threads =
        static_cast<std::uint32_t>(std::min<std::size_t>(wanted, work_.jobs.size()));
    run_workers(threads, [&](std::uint32_t, const std::atomic<bool>& stop) { work(stop); });
  }

  VerifyResult result() {
    VerifyResult result;
    result.tensor_digests.resize(block_digests_.size());
    for (const Placement& placement : layout_.placements) {
      const auto& blocks = block_digests_[placement.tensor];
      result.blocks += blocks.size();
      result.tensor_digests[placement.tensor] = tensor_digest(blocks);
    }
    result.compared_bytes = compared_bytes_.load();
    if (layout_.placements.size() == model_.tensors().size()) {
      result.model_digest = model_digest(model_, digest_order(model_), result.tensor_digests);
    }
    result.mismatch_count = differences_.size();
    // A device that gets no tensors may have no arena either.
    if (!differences_.empty()) {
      result.wrong_devices = {{arena_.device().id(), result.blocks, differences_.size()}};
      result.mismatches = join_differences(model_, layout_, arena_.device(), differences_);
    }
    return result;
  }

 private:
  void work(const std::atomic<bool>& stop) {
    const Stream stream(arena_.device());
    PinnedBuffer returned(arena_.device(), job_bytes, PinnedBuffer::Method::registered);
    std::vector<std::byte> expected(job_bytes);
    while (!stop.load()) {
      if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("verify");
      const std::size_t index = next_job_.fetch_add(1);
      if (index >= work_.jobs.size()) return;
      const Job& job = work_.jobs[index];
      const auto bytes = returned.bytes().first(job.in_arena.size_bytes);
      copy_d2h(bytes, arena_.view(job.in_arena.offset, job.in_arena.size_bytes), stream);
      try {
        read(job, expected);
        stream.synchronize();
      } catch (...) {
        core::settle(stream);  // the copy writes into memory that is about to go
        throw;
      }
      compare(job, expected, bytes);
    }
  }

  std::span<const Share> shares_of(const Job& job) const {
    return std::span(work_.shares).subspan(job.first_share, job.share_count);
  }

  void read(const Job& job, std::span<std::byte> expected) const {
    for (const Share& share : shares_of(job)) {
      const TensorInfo& tensor = model_.tensors()[share.tensor];
      files_[tensor.file].read_at(
          expected.subspan(share.in_arena.offset - job.in_arena.offset, share.in_arena.size_bytes),
          tensor.file_offset + share.tensor_offset);
    }
  }

  void compare(const Job& job, std::span<const std::byte> expected,
               std::span<const std::byte> returned) {
    std::uint64_t compared = 0;
    for (const Share& share : shares_of(job)) {
      const std::uint64_t start = share.in_arena.offset - job.in_arena.offset;
      for (std::uint64_t offset = 0; offset < share.in_arena.size_bytes; offset += block_bytes) {
        const std::uint64_t size = std::min(block_bytes, share.in_arena.size_bytes - offset);
        const auto want = expected.subspan(start + offset, size);
        const auto got = returned.subspan(start + offset, size);
        const std::uint64_t block = (share.tensor_offset + offset) / block_bytes;
        block_digests_[share.tensor][block] = block_digest(want);
        if (std::memcmp(want.data(), got.data(), size) != 0) {
          const std::lock_guard lock(mutex_);
          differences_.push_back(
              locate_difference(share.tensor, share.tensor_offset + offset, want, got));
        }
      }
      compared += share.in_arena.size_bytes;
    }
    const std::uint64_t done = compared_bytes_.fetch_add(compared) + compared;
    if (options_.observer != nullptr) options_.observer->on_progress(done, layout_.tensor_bytes);
  }

  const ModelFile& model_;
  const ArenaLayout& layout_;
  const Buffer& arena_;
  const VerifyOptions& options_;
  Work work_;
  std::vector<base::File> files_;
  std::vector<std::vector<std::uint64_t>> block_digests_;  // threads write different elements
  std::atomic<std::size_t> next_job_{0};
  std::atomic<std::uint64_t> compared_bytes_{0};
  std::mutex mutex_;
  std::vector<Difference> differences_;
};

}  // namespace

VerifyResult verify_readback(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                             const VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Verifier verifier(model, layout, arena, options);
  verifier.run();
  VerifyResult result = verifier.result();
  result.duration_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

VerifyResult join_results(const ModelFile& model, const LoadPlan& plan,
                          std::span<const VerifyResult> results) {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "join results", "join results: " + why,
                "give one result of verify_readback() for each device of the plan");
  };
  if (results.size() != plan.devices.size()) {
    refuse(std::to_string(results.size()) + " results were given for a plan of " +
           base::plain_count_of(plan.devices.size(), "device"));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (plan.devices[i].layout.placements.empty()) continue;
    if (results[i].tensor_digests.size() == model.tensors().size()) continue;
    refuse("the result of " + plan.devices[i].device.id() + " is of another model");
  }
  VerifyResult joined;
  joined.tensor_digests.resize(model.tensors().size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const VerifyResult& result = results[i];
    joined.blocks += result.blocks;
    joined.compared_bytes += result.compared_bytes;
    joined.mismatch_count += result.mismatch_count;
    joined.wrong_devices.insert(joined.wrong_devices.end(), result.wrong_devices.begin(),
                                result.wrong_devices.end());
    joined.duration_s += result.duration_s;
    for (const Mismatch& mismatch : result.mismatches) {
      if (joined.mismatches.size() < max_mismatches) joined.mismatches.push_back(mismatch);
    }
    for (const Placement& placement : plan.devices[i].layout.placements) {
      joined.tensor_digests[placement.tensor] = result.tensor_digests[placement.tensor];
    }
  }
  joined.model_digest = model_digest(model, digest_order(model), joined.tensor_digests);
  return joined;
}

}  // namespace hiptool::load
