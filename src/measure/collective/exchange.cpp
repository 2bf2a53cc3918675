// SPDX-License-Identifier: MIT
#include "measure/collective/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "measure/collective/exchange_memory.hpp"
#include "measure/copy/pattern_words.hpp"
#include "measure/kernel/family.hpp"
#include "ops/backend_kernels.hpp"

namespace hiptool::measure {
namespace {

using ExchangeWords = std::vector<std::uint32_t>;

constexpr std::uint32_t exchange_threads = 256;
constexpr std::uint32_t most_gpu_blocks = 64;
constexpr std::size_t exchange_unit_bytes = 16;
constexpr std::size_t exchange_unit_words = 4;
constexpr std::size_t exchange_tail_bytes = 64;
// No device reads its memory more often: the host's word ends the wait long before.
constexpr double spins_per_s = 1e7;
constexpr std::chrono::microseconds exchange_look_pause{50};

/// What all rounds so far have made of a value v + n * round: out = factor * v + n * offset.
struct Folded {
  std::uint32_t factor = 0;
  std::uint32_t offset = 0;

  void add(std::uint32_t round) {
    factor = 3 * factor + 1;
    offset = 3 * offset + round;
  }
  std::uint32_t of(std::uint32_t value, std::uint32_t times) const {
    return factor * value + times * offset;
  }
};

/// The first of the wrong words of a piece, and how many there are.
struct WrongPiece {
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint32_t expected = 0;
  std::uint32_t got = 0;
  std::uint32_t bits = 0;

  void compare(std::uint64_t index, std::uint32_t wanted, std::uint32_t found) {
    if (wanted == found) return;
    if (count == 0) {
      first = index;
      expected = wanted;
      got = found;
    }
    last = index;
    bits |= wanted ^ found;
    ++count;
  }
};

class ExchangeRun {
 public:
  ExchangeRun(const std::vector<Device>& devices, const ExchangeOptions& options,
              ExchangeResult& result)
      : devices_(devices),
        options_(options),
        result_(result),
        count_(static_cast<std::uint32_t>(devices.size())),
        is_ring_(result.exchange == ExchangeKind::ring),
        slots_(is_ring_ ? 2 * count_ - 2 : count_) {}

  /// Kernels that still wait after an error end before their memory goes.
  ~ExchangeRun() {
    if (!stop_) return;
    std::atomic_ref(stop_->words().front()).store(1);
    for (const auto& rank : ranks_) core::settle(rank->stream);
  }
  ExchangeRun(const ExchangeRun&) = delete;
  ExchangeRun& operator=(const ExchangeRun&) = delete;

  void run() {
    prepare();
    // Without rounds: code that is loaded at its first launch is there when kernels wait.
    launch_all(0);
    launch_all(options_.rounds);
    check();
    if (result_.status != report::Status::ok) return;
    for (std::size_t i = 0; i < options_.samples; ++i)
      result_.samples_s.push_back(launch_all(options_.rounds));
    check();
    rate();
  }

 private:
  void step(const std::string& text) const {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("exchange");
    if (options_.on_step) options_.on_step(result_.id + ": " + text);
  }

  std::uint64_t chunk_words() const { return chunk_units_ * exchange_unit_words; }
  std::size_t chunk_bytes() const { return chunk_units_ * exchange_unit_bytes; }

  void prepare() {
    step("preparing");
    const std::string refusal = options_.through_host ? "chosen" : PeerAccesses::refusal(devices_);
    result_.through_host_reason = refusal;
    if (refusal.empty()) peers_.enable(devices_);
    std::uint64_t least_units = most_gpu_blocks;
    for (const Device& device : devices_) {
      const Backend backend(device);
      const char* const name = is_ring_ ? "hiptool_exchange_ring" : "hiptool_exchange_all";
      ranks_.push_back(std::make_unique<ExchangeRank>(device, ops::kernel_of(backend, name)));
      least_units = std::min(least_units, device.info().compute_units.value_or(1));
    }
    // All blocks must run at once; on the processor one does.
    const bool is_cpu = devices_.front().platform() == Platform::cpu;
    blocks_ = is_cpu ? 1 : static_cast<std::uint32_t>(std::max<std::uint64_t>(1, least_units));
    const std::uint64_t units =
        std::max<std::uint64_t>(options_.size_bytes / exchange_unit_bytes, count_);
    chunk_units_ = (units + count_ - 1) / count_;
    result_.size_bytes = chunk_bytes() * count_;
    result_.elements = chunk_words() * count_ * count_;
    stop_.emplace(devices_.front(), sizeof(std::uint32_t));
    allocate();
    fill_inputs();
    fill_tables();
  }

  void allocate() {
    const std::size_t inbox_bytes = slots_ * chunk_bytes();
    const std::size_t flags_bytes = std::size_t{2} * slots_ * blocks_ *
                                    hiptool_exchange::words_per_flag * sizeof(std::uint32_t);
    const bool is_host = !result_.through_host_reason.empty();
    for (const auto& rank : ranks_) {
      const Device& device = rank->device;
      rank->input = Buffer(device, result_.size_bytes);
      rank->output = Buffer(device, result_.size_bytes);
      rank->table =
          Buffer(device, count_ * hiptool_exchange::units_per_row * sizeof(std::uint64_t));
      rank->reports =
          Buffer(device, blocks_ * hiptool_exchange::words_per_report * sizeof(std::uint32_t));
      fill(rank->output, std::byte{0}, rank->stream);
      if (is_host) {
        rank->host_inbox.emplace(device, inbox_bytes);
        rank->host_flags.emplace(device, flags_bytes);
        std::ranges::fill(rank->host_inbox->words(), ~0u);
        std::ranges::fill(rank->host_flags->words(), 0u);
      } else {
        rank->inbox = make_exchange_buffer(device, inbox_bytes);
        rank->flags = make_exchange_buffer(device, flags_bytes);
        // What was not sent must not look like it.
        fill(rank->inbox, std::byte{0xFF}, rank->stream);
        fill(rank->flags, std::byte{0}, rank->stream);
      }
      rank->stream.synchronize();
    }
  }

  void fill_inputs() {
    for (const auto& rank : ranks_) {
      ExchangeWords words(chunk_words() * count_);
      write_pattern(words, static_cast<std::uint32_t>(inputs_.size() + 1) * 0x9E3779B1U);
      copy_h2d_and_wait(rank->input, std::as_bytes(std::span<const std::uint32_t>(words)));
      inputs_.push_back(std::move(words));
    }
  }

  void fill_tables() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      ExchangeRank& rank = *ranks_[i];
      std::vector<std::uint64_t> table;
      for (const auto& other : ranks_) {
        if (other->host_inbox) {
          table.push_back(other->host_inbox->address_on(rank.device));
          table.push_back(other->host_flags->address_on(rank.device));
        } else {
          table.push_back(reinterpret_cast<std::uint64_t>(other->inbox.address()));
          table.push_back(reinterpret_cast<std::uint64_t>(other->flags.address()));
        }
      }
      copy_h2d_and_wait(rank.table, std::as_bytes(std::span<const std::uint64_t>(table)));
      hiptool_exchange::Work& work = rank.work;
      work.input = reinterpret_cast<std::uint64_t>(rank.input.address());
      work.output = reinterpret_cast<std::uint64_t>(rank.output.address());
      work.table = reinterpret_cast<std::uint64_t>(rank.table.address());
      work.stop = stop_->address_on(rank.device);
      work.reports = reinterpret_cast<std::uint64_t>(rank.reports.address());
      work.chunk_units = chunk_units_;
      work.most_spins = static_cast<std::uint64_t>(options_.timeout_s * spins_per_s);
      work.rank = i;
      work.ranks = count_;
    }
  }

  /// The seconds of a round, of the slowest device. Throws Error(timed_out) with the step and the
  /// devices where a kernel has waited in vain.
  double launch_all(std::uint32_t rounds) {
    step(rounds == 0 ? "loading the kernels" : "running");
    std::atomic_ref(stop_->words().front()).store(0);
    for (const auto& rank : ranks_) {
      const DeviceGuard guard(rank->device);
      fill(rank->reports, std::byte{0}, rank->stream);
      rank->work.rounds = rounds;
      rank->work.first_round = result_.rounds + 1;
    }
    for (const auto& rank : ranks_) {
      rank->started.record(rank->stream);
      launch(rank->kernel, {{blocks_}, {exchange_threads}, exchange_unit_bytes}, rank->stream,
             rank->work);
      rank->ended.record(rank->stream);
    }
    wait_for_all();
    double slowest_s = 0;
    for (const auto& rank : ranks_)
      slowest_s = std::max(slowest_s, rank->ended.elapsed_s(rank->started));
    for (std::uint32_t i = 0; i < rounds; ++i) folded_.add(++result_.rounds);
    return slowest_s / std::max(1u, rounds);
  }

  void wait_for_all() {
    const auto start = std::chrono::steady_clock::now();
    const auto is_running = [](const auto& rank) { return !rank->stream.is_done(); };
    bool has_stopped = false;
    while (std::ranges::any_of(ranks_, is_running)) {
      const bool is_cancelled = options_.cancel != nullptr && options_.cancel->is_cancelled();
      if (!has_stopped && (is_cancelled || base::seconds_since(start) > options_.timeout_s)) {
        std::atomic_ref(stop_->words().front()).store(1);
        has_stopped = true;
      }
      std::this_thread::sleep_for(exchange_look_pause);
    }
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("exchange");
    for (const auto& rank : ranks_) rank->stream.synchronize();
    require_reports();
  }

  /// Of the kernels that gave up the one that waited for the earliest step.
  void require_reports() {
    struct Missing {
      std::uint32_t round, step, rank, peer;
      bool is_taken;
    };
    std::vector<Missing> all;
    for (std::uint32_t i = 0; i < count_; ++i) {
      ExchangeWords words(blocks_ * hiptool_exchange::words_per_report);
      copy_d2h_and_wait(std::as_writable_bytes(std::span(words)), ranks_[i]->reports);
      for (std::size_t at = 0; at < words.size(); at += hiptool_exchange::words_per_report) {
        if (words[at] == 0) continue;
        all.push_back({words[at + 2], words[at] - 1, i, words[at + 1], words[at + 3] != 0});
      }
    }
    if (all.empty()) return;
    const auto first = *std::ranges::min_element(all, [](const Missing& a, const Missing& b) {
      return std::pair(a.round, a.step) < std::pair(b.round, b.step);
    });
    const std::string waiting = devices_[first.rank].id();
    const std::string awaited = devices_[first.peer].id();
    result_.has_timed_out = true;
    result_.sender = awaited;
    result_.receiver = waiting;
    throw Error(ErrorCode::timed_out, "exchange",
                fmt::format("{} waited {} for {} in step {} of round {}: {} did not come", waiting,
                            format_duration(options_.timeout_s), awaited, first.step + 1,
                            first.round, first.is_taken ? "the receipt" : "data"));
  }

  void check() {
    step("checking");
    if (result_.rounds == 0) return;
    const ExchangeWords sums = is_ring_ ? sum_inputs() : ExchangeWords();
    for (std::uint32_t i = 0; i < count_ && result_.status == report::Status::ok; ++i) {
      ExchangeWords got(inputs_[i].size());
      copy_d2h_and_wait(std::as_writable_bytes(std::span(got)), ranks_[i]->output);
      WrongPiece wrong;
      for (std::uint64_t at = 0; at < got.size(); ++at) {
        wrong.compare(at, is_ring_ ? folded_.of(sums[at], count_) : expected_of_all(i, at),
                      got[at]);
      }
      result_.checked += got.size();
      if (wrong.count > 0) refuse(i, wrong, sums);
    }
  }

  ExchangeWords sum_inputs() const {
    ExchangeWords sums = inputs_.front();
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      std::ranges::transform(sums, inputs_[i], sums.begin(), std::plus<>());
    }
    return sums;
  }

  std::uint32_t expected_of_all(std::uint32_t rank, std::uint64_t at) const {
    const std::uint64_t sender = at / chunk_words();
    return folded_.of(inputs_[sender][rank * chunk_words() + at % chunk_words()], 1);
  }

  void refuse(std::uint32_t rank, const WrongPiece& wrong, const ExchangeWords& sums) {
    result_.status = report::Status::mismatch;
    report::WrongData data;
    data.first_index = wrong.first;
    data.expected = std::uint64_t{wrong.expected};
    data.got = std::uint64_t{wrong.got};
    data.xor_bits = wrong.bits;
    data.count = wrong.count;
    ExchangeWords again(inputs_[rank].size());
    copy_d2h_and_wait(std::as_writable_bytes(std::span(again)), ranks_[rank]->output);
    data.reread_agrees = again[wrong.first] == wrong.got;
    result_.wrong = data;
    result_.reason = is_ring_ ? ring_reason(rank, sums) : all_reason(rank, wrong);
  }

  std::string all_reason(std::uint32_t rank, const WrongPiece& wrong) {
    result_.sender = devices_[wrong.first / chunk_words()].id();
    result_.receiver = devices_[rank].id();
    return fmt::format("data from {} on {}", result_.sender, result_.receiver);
  }

  /// The first step of the last round in which other data arrived than should have been sent.
  std::string ring_reason(std::uint32_t rank, const ExchangeWords& sums) {
    const std::uint32_t round = result_.rounds;
    for (std::uint32_t step = 0; step < slots_; ++step) {
      for (std::uint32_t receiver = 0; receiver < count_; ++receiver) {
        const ExchangeWords got = read_slot(receiver, step);
        const std::uint32_t chunk = (receiver + 2 * count_ - step - 1) % count_;
        const std::uint32_t terms = std::min(step + 1, count_);
        WrongPiece wrong;
        for (std::uint64_t i = 0; i < got.size(); ++i) {
          const std::uint64_t at = chunk * chunk_words() + i;
          std::uint32_t sum = sums[at];
          if (terms < count_) sum = partial_sum(receiver, terms, at);
          wrong.compare(i, sum + terms * round, got[i]);
        }
        if (wrong.count > 0) return step_reason(step, receiver, wrong);
      }
    }
    return fmt::format(
        "on {}; all that arrived in the last round is right: it was sent wrong in an "
        "earlier one, or the sums are",
        devices_[rank].id());
  }

  /// Of the ranks before the receiver.
  std::uint32_t partial_sum(std::uint32_t receiver, std::uint32_t terms, std::uint64_t at) const {
    std::uint32_t sum = 0;
    for (std::uint32_t k = 1; k <= terms; ++k) sum += inputs_[(receiver + count_ - k) % count_][at];
    return sum;
  }

  ExchangeWords read_slot(std::uint32_t rank, std::uint32_t slot) const {
    ExchangeWords words(chunk_words());
    const std::size_t offset = slot * chunk_bytes();
    if (ranks_[rank]->host_inbox) {
      std::memcpy(words.data(), ranks_[rank]->host_inbox->data() + offset, chunk_bytes());
    } else {
      copy_d2h_and_wait(std::as_writable_bytes(std::span(words)),
                        ranks_[rank]->inbox.view(offset, chunk_bytes()));
    }
    return words;
  }

  std::string step_reason(std::uint32_t step, std::uint32_t receiver, const WrongPiece& wrong) {
    result_.sender = devices_[(receiver + count_ - 1) % count_].id();
    result_.receiver = devices_[receiver].id();
    const std::uint64_t end = chunk_bytes();
    const std::uint64_t first = wrong.first * sizeof(std::uint32_t);
    std::string place = fmt::format("from byte {} on", first);
    if (end - first == exchange_tail_bytes &&
        wrong.last * sizeof(std::uint32_t) + exchange_tail_bytes >= end)
      place = "in its last 64 bytes";
    return fmt::format("step {} of {}, from {} to {}: {} of a chunk of {} wrong {}", step + 1,
                       slots_, result_.sender, result_.receiver,
                       base::count_of(wrong.count, "word"), format_size(end), place);
  }

  void rate() {
    if (result_.status != report::Status::ok || result_.samples_s.empty()) return;
    result_.median_s = base::median(result_.samples_s);
    const auto steps = static_cast<double>(is_ring_ ? 2 * (count_ - 1) : count_ - 1);
    if (*result_.median_s > 0)
      result_.bytes_per_s = steps * static_cast<double>(chunk_bytes()) / *result_.median_s;
  }

  const std::vector<Device>& devices_;
  const ExchangeOptions& options_;
  ExchangeResult& result_;
  std::uint32_t count_;
  bool is_ring_;
  std::uint32_t slots_;
  std::uint32_t blocks_ = 1;
  std::uint64_t chunk_units_ = 0;
  Folded folded_;
  std::vector<ExchangeWords> inputs_;
  PeerAccesses peers_;
  std::optional<SharedHostMemory> stop_;
  std::vector<std::unique_ptr<ExchangeRank>> ranks_;
};

}  // namespace

std::string_view to_string(ExchangeKind kind) noexcept {
  return kind == ExchangeKind::ring ? "exchange-ring" : "exchange-all";
}

report::Measurement measurement_of(const ExchangeResult& result) {
  report::Measurement measured = result;
  const auto or_absent = [](const std::string& text) {
    return text.empty() ? report::Value() : report::Value(text);
  };
  measured.details = {{"rounds", std::uint64_t{result.rounds}},
                      {"memory", result.through_host_reason.empty() ? "peer" : "host"},
                      {"memory_reason", or_absent(result.through_host_reason)},
                      {"sender", or_absent(result.sender)},
                      {"receiver", or_absent(result.receiver)}};
  return measured;
}

ExchangeResult measure_exchange(const std::vector<Device>& devices, ExchangeKind kind,
                                const ExchangeOptions& options) {
  ExchangeResult result;
  result.exchange = kind;
  result.kind = to_string(kind);
  result.size_bytes = options.size_bytes;
  result.dtype = "u32";
  result.id = fmt::format("{}.u32.{}@", to_string(kind), report::size_word(options.size_bytes));
  for (const Device& device : devices) {
    result.destination += (result.destination.empty() ? "" : ",") + device.id();
    result.id += (result.id.back() == '@' ? "" : "+") + device.id();
  }
  result.source = result.destination;
  result.set_names();
  ExchangeRun run(devices, options, result);
  try {
    run.run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    result.status = report::Status::failed;
    result.reason = error.what();
    result.error = error;
  }
  if (options.on_result) options.on_result(result);
  return result;
}

}  // namespace hiptool::measure
