// SPDX-License-Identifier: MIT
#include "measure/coherence/coherence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "measure/coherence/shared_memory.hpp"
#include "measure/copy/device_tools.hpp"
#include "measure/copy/pattern_words.hpp"
#include "ops/backend_kernels.hpp"

namespace hiptool::measure {
namespace {

using hiptool_exchange::lines_per_group;
using hiptool_exchange::words_per_line;
using hiptool_exchange::words_per_turn;

constexpr std::array<std::string_view, 4> shared_kind_words{"pinned", "registered", "mapped",
                                                            "managed"};
constexpr std::uint32_t turn_threads = 256;
constexpr std::uint32_t turn_blocks = 8;  // on several dies of a GPU that has them
constexpr std::size_t report_words = 5;
constexpr std::uint64_t group_words = std::uint64_t{lines_per_group} * words_per_line;
constexpr double turn_spins_per_s = 1e7;  // no device reads host memory more often

/// A word that was read wrong.
struct WrongRead {
  std::uint64_t index = 0;
  std::uint32_t round = 0;
  std::uint32_t expected = 0;
  std::uint32_t got = 0;
  std::uint64_t count = 0;
};

/// Host and resident kernel alternate. Blocks are independent of each other, so that they need not
/// all run at once.
class TurnRun {
 public:
  TurnRun(const Device& device, const SharedMemory& memory, const CoherenceOptions& options,
          CoherenceResult& result)
      : device_(device),
        memory_(memory),
        options_(options),
        result_(result),
        stream_(device),
        turns_(device, turn_blocks * words_per_turn * sizeof(std::uint32_t)),
        reports_(device, report_words * sizeof(std::uint32_t)) {
    std::ranges::fill(turns_.words(), 0u);
  }
  ~TurnRun() {
    stop();
    core::settle(stream_);
  }
  TurnRun(const TurnRun&) = delete;
  TurnRun& operator=(const TurnRun&) = delete;

  /// What was read wrong first, by the kernel or by the host.
  std::optional<WrongRead> run() {
    const Kernel kernel = ops::kernel_of(Backend(device_), "hiptool_coherence_turns");
    fill(reports_, std::byte{0}, stream_);
    groups_ = options_.size_bytes / (group_words * sizeof(std::uint32_t));
    hiptool_exchange::Turns work{};
    work.memory = memory_.device_address();
    work.turns = turns_.address_on(device_);
    work.reports = reinterpret_cast<std::uint64_t>(reports_.address());
    work.groups = groups_;
    work.most_spins = static_cast<std::uint64_t>(options_.timeout_s * turn_spins_per_s);
    work.rounds = options_.rounds;
    work.seed = seed_;
    const bool is_cpu = device_.platform() == Platform::cpu;
    blocks_ = is_cpu ? 1 : turn_blocks;
    done_.assign(blocks_, 0);
    for (std::uint32_t block = 0; block < blocks_; ++block) write_lines(block, 1);
    launch(kernel, {{blocks_}, {turn_threads}, 16}, stream_, work);
    take_turns();
    stop();
    stream_.synchronize();
    read_reports();
    return wrong_;
  }

 private:
  std::atomic_ref<std::uint32_t> turn(std::uint32_t block, std::uint32_t line) const {
    return std::atomic_ref(turns_.words()[block * words_per_turn + line * words_per_line]);
  }
  void stop() const noexcept {
    for (std::uint32_t block = 0; block < turn_blocks; ++block) turn(block, 2).store(1);
  }

  template <class Each>
  void for_lines(std::uint32_t block, std::uint32_t line, const Each& each) const {
    const std::uint64_t begin = groups_ * block / blocks_;
    const std::uint64_t end = groups_ * (block + 1) / blocks_;
    for (std::uint64_t group = begin; group < end; ++group) {
      const std::uint64_t first = group * group_words + std::uint64_t{line} * words_per_line;
      for (std::uint64_t word = 0; word < words_per_line; ++word) each(first + word);
    }
  }

  void write_lines(std::uint32_t block, std::uint32_t round) const {
    for_lines(block, round % 2, [&](std::uint64_t at) {
      std::atomic_ref(memory_.words()[at])
          .store(pattern_word(at, seed_ + round), std::memory_order_relaxed);
    });
  }

  void check_lines(std::uint32_t block, std::uint32_t round) {
    for_lines(block, 2 + round % 2, [&](std::uint64_t at) {
      const std::uint32_t expected = pattern_word(at, ~seed_ + round);
      const std::uint32_t got =
          std::atomic_ref(memory_.words()[at]).load(std::memory_order_relaxed);
      ++result_.checked;
      if (got != expected) note({at, round, expected, got, 1}, "the host", ~seed_);
    });
  }

  /// Blocks whose turn it is; the next lines are written while the kernel works on these.
  void take_turns() {
    auto moved_at = std::chrono::steady_clock::now();
    std::uint32_t left = blocks_;
    std::vector<std::uint32_t> given(blocks_, 0);
    while (left > 0) {
      bool has_moved = false;
      for (std::uint32_t block = 0; block < blocks_; ++block) {
        std::uint32_t& round = done_[block];
        if (round >= options_.rounds) continue;
        if (given[block] == round) {
          turn(block, 0).store(++given[block], std::memory_order_release);
          if (given[block] < options_.rounds) write_lines(block, given[block] + 1);
          if (round > 0) check_lines(block, round);
          has_moved = true;
        }
        if (turn(block, 1).load(std::memory_order_acquire) != given[block]) continue;
        ++round;
        has_moved = true;
        if (round < options_.rounds) continue;
        check_lines(block, round);
        --left;
      }
      const bool is_cancelled = options_.cancel != nullptr && options_.cancel->is_cancelled();
      if (is_cancelled) break;
      if (has_moved) {
        show_progress();
        moved_at = std::chrono::steady_clock::now();
        continue;
      }
      if (base::seconds_since(moved_at) > options_.timeout_s) break;
      std::this_thread::yield();
    }
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("coherence");
    if (left == 0) return;
    result_.has_timed_out = true;
    const std::uint32_t least = *std::ranges::min_element(done_);
    throw Error(ErrorCode::timed_out, "coherence",
                fmt::format("{} memory: host and kernel did not see each other's turn {} of {} "
                            "within {}",
                            to_string(result_.memory), least + 1, options_.rounds,
                            format_duration(options_.timeout_s)));
  }

  /// A sign of life now and then: on a busy machine all turns may take longer than a step may.
  void show_progress() {
    constexpr double often_s = 0.5;
    if (!options_.on_step || base::seconds_since(shown_at_) < often_s) return;
    shown_at_ = std::chrono::steady_clock::now();
    options_.on_step(result_.id + ": turns of host and kernel");
  }

  void note(const WrongRead& wrong, const std::string& reader, std::uint32_t seed) {
    if (!wrong_) {
      wrong_ = wrong;
      reader_ = reader;
      // In lines of the same parity there was the value of two rounds before.
      result_.is_stale =
          wrong.round > 2 && wrong.got == pattern_word(wrong.index, seed + wrong.round - 2);
    } else {
      wrong_->count += wrong.count;
    }
    result_.reason = fmt::format(
        "{} memory at offset {}: {} read 0x{:08x} in turn {}, 0x{:08x} was written{}",
        to_string(result_.memory), wrong_->index * sizeof(std::uint32_t), reader_, wrong_->got,
        wrong_->round, wrong_->expected,
        result_.is_stale ? "; that is the value of two turns before: a stale read" : "");
  }

  void read_reports() {
    std::array<std::uint32_t, report_words> words{};
    copy_d2h_and_wait(std::as_writable_bytes(std::span(words)), reports_);
    result_.checked += groups_ * words_per_line * options_.rounds;
    if (words[0] == 0) return;
    // What the kernel read comes first: the host may have read its answer to that.
    wrong_.reset();
    note({words[1], words[2], words[3], words[4], words[0]}, "the kernel", seed_);
  }

  static constexpr std::uint32_t seed_ = 0x5EED0000;

  const Device& device_;
  const SharedMemory& memory_;
  const CoherenceOptions& options_;
  CoherenceResult& result_;
  Stream stream_;
  SharedHostMemory turns_;
  Buffer reports_;
  std::uint64_t groups_ = 0;
  std::uint32_t blocks_ = 1;
  std::vector<std::uint32_t> done_;
  std::optional<WrongRead> wrong_;
  std::string reader_;
  std::chrono::steady_clock::time_point shown_at_ = std::chrono::steady_clock::now();
};

/// The host rewrites the memory, a kernel reads it after an event, and the other way round.
class PhaseRun {
 public:
  PhaseRun(const Device& device, const SharedMemory& memory, CoherenceResult& result)
      : memory_(memory),
        result_(result),
        tools_(device),
        stream_(device),
        read_(device, memory.words().size_bytes()),
        staged_(device, memory.words().size_bytes()),
        bytes_(memory.words().size_bytes()) {}

  std::optional<WrongRead> run(std::uint32_t phase) {
    const std::uint32_t seed = 2 * phase;
    write_pattern(memory_.words(), seed);
    auto* const device_side = reinterpret_cast<std::byte*>(memory_.device_address());
    tools_.copy(static_cast<std::byte*>(read_.address()), device_side, bytes_, stream_);
    stream_.synchronize();
    copy_h2d(staged_, std::as_bytes(memory_.words()), stream_);
    stream_.synchronize();
    auto wrong = compare(from_device(read_), seed, phase, "a kernel");
    if (!wrong) wrong = compare(from_device(staged_), seed, phase, "a copy of the runtime");
    if (wrong) return wrong;
    tools_.write(read_, seed + 1);
    tools_.copy(device_side, static_cast<const std::byte*>(read_.address()), bytes_, stream_);
    stream_.synchronize();
    return compare({memory_.words().begin(), memory_.words().end()}, seed + 1, phase, "the host");
  }

 private:
  std::vector<std::uint32_t> from_device(const Buffer& buffer) const {
    std::vector<std::uint32_t> words(bytes_ / sizeof(std::uint32_t));
    copy_d2h_and_wait(std::as_writable_bytes(std::span(words)), buffer);
    return words;
  }

  std::optional<WrongRead> compare(const std::vector<std::uint32_t>& got, std::uint32_t seed,
                                   std::uint32_t phase, const char* reader) {
    const WrongWords wrong = check_pattern(got, seed);
    result_.checked += got.size();
    if (wrong.count == 0) return {};
    WrongRead read{wrong.first_index, phase, pattern_word(wrong.first_index, seed),
                   got[wrong.first_index], wrong.count};
    // Before, the memory had the pattern of the other direction or of the last phase.
    result_.is_stale = read.got == pattern_word(read.index, seed - 1) ||
                       read.got == pattern_word(read.index, seed - 2);
    result_.reason = fmt::format(
        "{} memory at offset {}: {} read 0x{:08x} in phase {}, 0x{:08x} was written{}",
        to_string(result_.memory), read.index * sizeof(std::uint32_t), reader, read.got, phase,
        read.expected, result_.is_stale ? "; that is what was there before: a stale read" : "");
    return read;
  }

  const SharedMemory& memory_;
  CoherenceResult& result_;
  DeviceTools tools_;
  Stream stream_;
  Buffer read_;
  Buffer staged_;
  std::size_t bytes_;
};

void refuse_read(const WrongRead& wrong, CoherenceResult& result) {
  result.status = report::Status::mismatch;
  result.offset_bytes = wrong.index * sizeof(std::uint32_t);
  report::WrongData data;
  data.first_index = wrong.index;
  data.expected = std::uint64_t{wrong.expected};
  data.got = std::uint64_t{wrong.got};
  data.xor_bits = wrong.expected ^ wrong.got;
  data.count = wrong.count;
  result.wrong = data;
}

void run_coherence(const Device& device, const CoherenceOptions& options, CoherenceResult& result) {
  const auto step = [&](const char* text) {
    if (options.cancel != nullptr) options.cancel->throw_if_cancelled("coherence");
    if (options.on_step) options.on_step(result.id + ": " + text);
  };
  device.start();
  const DeviceGuard guard(device);
  step("turns of host and kernel");
  const SharedMemory memory(device, result.memory, options.size_bytes);
  result.has_turns = memory.is_concurrent();
  if (result.has_turns) {
    const auto wrong = TurnRun(device, memory, options, result).run();
    if (wrong) return refuse_read(*wrong, result);
    result.rounds += options.rounds;
  }
  step("phases of host and kernel");
  const SharedMemory large(device, result.memory, options.phase_bytes);
  PhaseRun phases(device, large, result);
  for (std::uint32_t phase = 1; phase <= options.phases; ++phase) {
    const auto wrong = phases.run(phase);
    if (wrong) return refuse_read(*wrong, result);
    ++result.rounds;
  }
}

}  // namespace

std::string_view to_string(SharedMemoryKind kind) noexcept {
  return shared_kind_words[static_cast<std::size_t>(kind)];
}

const std::vector<SharedMemoryKind>& all_shared_memory_kinds() {
  static const std::vector<SharedMemoryKind> all{
      SharedMemoryKind::pinned, SharedMemoryKind::registered, SharedMemoryKind::mapped,
      SharedMemoryKind::managed};
  return all;
}

report::Measurement measurement_of(const CoherenceResult& result) {
  report::Measurement measured = result;
  measured.details = {{"memory", to_string(result.memory)},
                      {"rounds", std::uint64_t{result.rounds}},
                      {"at_the_same_time", result.has_turns}};
  if (result.wrong) {
    measured.details.emplace_back("offset_bytes", result.offset_bytes);
    measured.details.emplace_back("stale", result.is_stale);
  }
  return measured;
}

CoherenceResult measure_coherence(const Device& device, SharedMemoryKind kind,
                                  const CoherenceOptions& options) {
  CoherenceResult result;
  result.memory = kind;
  result.kind = "coherence";
  result.dtype = "u32";
  result.size_bytes = options.size_bytes;
  result.destination = device.id();
  result.id = fmt::format("coherence.{}.{}@{}", to_string(kind),
                          report::size_word(options.size_bytes), device.id());
  result.set_names();
  try {
    run_coherence(device, options, result);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    const bool is_missing = error.code() == ErrorCode::unsupported;
    result.status = is_missing ? report::Status::skipped : report::Status::failed;
    result.reason = error.what();
    if (!is_missing) result.error = error;
  }
  return result;
}

}  // namespace hiptool::measure
