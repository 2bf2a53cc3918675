// SPDX-License-Identifier: MIT
#include "measure/kernel_load.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/contains.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "measure/device_digest.hpp"
#include "measure/kernel/work.hpp"
#include "ops/backend_kernels.hpp"

namespace hiptool::measure {
namespace {

// Launches into a longer queue may block the host.
constexpr std::size_t most_queued_runs = 32;
// Where only the family's own check judges, it takes a while: as long again at most.
constexpr double least_share_of_runs = 0.5;

const FamilyEntry& entry_of(const KernelLoadOptions& options) {
  for (const FamilyEntry& entry : all_families()) {
    if (entry.family.name != options.family) continue;
    if (!base::contains(entry.family.dtypes, options.dtype)) break;
    return entry;
  }
  throw Error(ErrorCode::not_found, "run kernels",
              "no kernel " + options.family + " of " + options.dtype,
              "hiptool run-kernel --list names them");
}

/// Where two copies of an output differ. Both have the same size.
WrongData difference_of(const Buffer& got, const std::vector<std::byte>& wanted) {
  std::vector<std::byte> bytes(got.size_bytes());
  copy_d2h_and_wait(bytes, got);
  WrongData wrong;
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::memcpy(&left, bytes.data() + i, 4);
    std::memcpy(&right, wanted.data() + i, 4);
    if (left == right) continue;
    if (wrong.count == 0) {
      wrong.first_index = i / 4;
      wrong.expected = right;
      wrong.got = left;
    }
    ++wrong.count;
    wrong.xor_bits |= left ^ right;
  }
  wrong.reread_agrees = wrong.count > 0;
  // The digests differed, and the words no longer do: a read, or a digest, was wrong once.
  wrong.count = std::max<std::uint64_t>(wrong.count, 1);
  return wrong;
}

}  // namespace

class KernelLoad::Work {
 public:
  Work(const Device& device, const KernelLoadOptions& options) : device_(device), stream_(device) {
    const FamilyEntry& entry = entry_of(options);
    const DeviceInfo info = device.info();
    context_.stream = &stream_;
    context_.arch = info.arch;
    context_.compute_units = info.compute_units.value_or(1);
    context_.dtype = options.dtype;
    context_.size_bytes = options.size_bytes;
    context_.layout = entry.family.is_operation ? "packed" : "";
    context_.seed = options.seed;
    context_.blocks_per_unit = options.blocks_per_unit;
    context_.backend = [this] {
      if (!backend_) backend_ = Backend::borrow_stream(stream_);
      return *backend_;
    };
    context_.find_kernel = [this](std::string_view name) {
      return ops::kernel_of(context_.backend(), name);
    };
    work_ = entry.make(device_, context_);
    figures_ = work_->figures();
    output_ = work_->output();
    if (output_) digest_.emplace(*output_, most_queued_runs);
  }

  Round begin() {
    Round round;
    work_->reset();
    work_->queue();
    stream_.synchronize();
    judge(round);
    round.runs = 1;
    if (!output_ || round.wrong) return round;
    // Of these bytes it is known that they are right.
    right_.resize(output_->size_bytes());
    copy_d2h_and_wait(right_, *output_);
    right_digests_ = host_digests(right_);
    return round;
  }

  Round run(double time_s) {
    // After a wrong first run there is no digest to compare with.
    return right_digests_.empty() ? run_with_checks(time_s) : run_with_digests(time_s);
  }

  const KernelWork::Figures& figures() const { return figures_; }

 private:
  std::size_t runs_within(double time_s) const {
    if (last_run_s_ <= 0) return 1;
    return static_cast<std::size_t>(
        std::clamp(std::floor(time_s / last_run_s_), 1.0, static_cast<double>(most_queued_runs)));
  }

  Round run_with_digests(double time_s) {
    Round round;
    round.runs = runs_within(time_s);
    const auto start = std::chrono::steady_clock::now();
    while (timers_.size() < round.runs) timers_.emplace_back(stream_);
    for (std::size_t i = 0; i < round.runs; ++i) {
      fill(*output_, std::byte{0xFF}, stream_);
      timers_[i].start();
      work_->queue();
      timers_[i].stop();
      digest_->queue(i, stream_);
    }
    const std::span<const std::uint64_t> seen = digest_->read(round.runs, stream_);
    last_run_s_ = base::seconds_since(start) / static_cast<double>(round.runs);
    for (std::size_t i = 0; i < round.runs; ++i) round.time_s += timers_[i].elapsed_s();
    round.checked = round.runs * figures_.elements;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == right_digests_[i % right_digests_.size()]) continue;
      // Of an earlier run of the round the bytes are gone; which block it was is known.
      round.wrong =
          i + right_digests_.size() >= seen.size()
              ? difference_of(*output_, right_)
              : WrongData{i % right_digests_.size() * block_words, {}, {}, 0, 1, false, 0};
      work_->reset();
      break;
    }
    return round;
  }

  Round run_with_checks(double time_s) {
    Round round;
    const auto start = std::chrono::steady_clock::now();
    do {
      const std::size_t runs = runs_within(time_s);
      const auto begun = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < runs; ++i) work_->queue();
      stream_.synchronize();
      last_run_s_ = base::seconds_since(begun) / static_cast<double>(runs);
      round.runs += runs;
    } while (base::seconds_since(start) < std::max(time_s, check_s_ * least_share_of_runs));
    round.time_s = base::seconds_since(start);
    const auto checking = std::chrono::steady_clock::now();
    judge(round);
    check_s_ = base::seconds_since(checking);
    return round;
  }

  void judge(Round& round) {
    Comparison seen = work_->check();
    // A memory test counts all that it checked since it was reset.
    round.checked = seen.checked > checked_before_ ? seen.checked - checked_before_ : seen.checked;
    checked_before_ = seen.checked;
    round.max_error = seen.max_error;
    round.wrong = std::move(seen.wrong);
    round.missed_fault = std::move(seen.missed_fault);
    if (!round.wrong) return;
    work_->reset();
    checked_before_ = 0;
  }

  static constexpr std::uint64_t block_words = 4096;  // of a digest

  Device device_;
  Stream stream_;
  std::optional<Backend> backend_;
  WorkContext context_;
  std::unique_ptr<KernelWork> work_;
  KernelWork::Figures figures_;
  std::optional<Buffer> output_;
  std::optional<DeviceDigest> digest_;
  std::deque<KernelTimer> timers_;
  std::vector<std::byte> right_;
  std::vector<std::uint64_t> right_digests_;
  std::uint64_t checked_before_ = 0;
  double last_run_s_ = 0;
  double check_s_ = 0;
};

bool has_size(const std::string& family) {
  for (const FamilyEntry& entry : all_families()) {
    if (entry.family.name == family) return entry.arrays > 0;
  }
  throw Error(ErrorCode::not_found, "run kernels", "unknown kernel '" + family + "'");
}

KernelLoad::KernelLoad(const Device& device, const KernelLoadOptions& options)
    : work_(std::make_unique<Work>(device, options)) {}
KernelLoad::~KernelLoad() = default;

KernelLoad::Round KernelLoad::begin() { return work_->begin(); }
KernelLoad::Round KernelLoad::run(double time_s) { return work_->run(time_s); }
std::uint64_t KernelLoad::size_bytes() const { return work_->figures().size_bytes; }
std::uint64_t KernelLoad::elements() const { return work_->figures().elements; }
double KernelLoad::tolerance() const { return work_->figures().tolerance; }
double KernelLoad::bytes_of_run() const { return work_->figures().bytes; }
double KernelLoad::flops_of_run() const { return work_->figures().flops; }

}  // namespace hiptool::measure
