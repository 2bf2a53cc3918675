// SPDX-License-Identifier: MIT
#include "measure/collective/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <span>
#include <thread>
#include <utility>

#include "base/statistics.hpp"
#include "hip/nccl.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/stream.hpp"
#include "measure/collective/reduce_hosts.hpp"
#include "measure/copy/pattern_words.hpp"

namespace hiptool::measure {
namespace {

constexpr const char* multicast_variable = "NCCL_NVLS_ENABLE";
constexpr std::chrono::microseconds reduce_look_pause{50};

/// One device of a communicator.
struct ReduceRank {
  explicit ReduceRank(const Device& of) : device(of), stream(of), started(of), ended(of) {}

  Device device;
  Stream stream;
  Event started;
  Event ended;
  Buffer from;
  Buffer to;
  hip::ncclComm_t comm = nullptr;
};

class ReduceRun {
 public:
  ReduceRun(const std::vector<Device>& devices, const ReduceOptions& options, ReduceResult& result)
      : devices_(devices), options_(options), result_(result) {}
  ~ReduceRun() {
    // After an error others may wait for ever in an orderly end.
    for (const ReduceRank& rank : ranks_) {
      if (rank.comm == nullptr) continue;
      if (is_finished_) {
        calls_->ncclCommDestroy(rank.comm);
      } else {
        calls_->ncclCommAbort(rank.comm);
      }
    }
  }
  ReduceRun(const ReduceRun&) = delete;
  ReduceRun& operator=(const ReduceRun&) = delete;

  void run() {
    if (options_.job) {
      step("connecting the hosts");
      hosts_.emplace(*options_.job, options_.cancel);
    }
    if (!open()) return;
    connect();
    count_ = options_.size_bytes / sizeof(std::uint32_t);
    judged_ = hosts_ ? judged_elements(count_, rank_count(), ranks_.size()) : count_;
    for (ReduceRank& rank : ranks_) {
      rank.from = Buffer(rank.device, count_ * sizeof(std::uint32_t));
      rank.to = Buffer(rank.device, count_ * sizeof(std::uint32_t));
    }
    if (!agreed(judge_whole()) || !agreed(judge_floats())) return;
    step("timing");
    for (std::size_t i = 0; i < options_.samples; ++i)
      result_.samples_s.push_back(reduce(hip::ncclFloat32, count_));
    if (hosts_) hosts_->agree(true);
    is_finished_ = true;
    result_.median_s = base::median(result_.samples_s);
    const auto n = static_cast<double>(rank_count());
    if (*result_.median_s > 0) {
      result_.bytes_per_s =
          2 * (n - 1) / n * static_cast<double>(options_.size_bytes) / *result_.median_s;
    }
  }

 private:
  void step(const std::string& text) const {
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("all-reduce");
    if (options_.on_step) options_.on_step(text);
  }

  bool open() {
    step("opening the library");
    // Multicast needs a fabric manager that many machines lack; who wants it asks for it.
    setenv(multicast_variable, "0", 0);
    const hip::NcclLibrary& library = hip::find_nccl(devices_.front().platform());
    result_.library_version = library.version;
    result_.library_path = library.path;
    calls_ = library.calls;
    const std::string reason = hosts_ ? hosts_->agree_on_library(library) : library.reason;
    if (reason.empty()) return true;
    result_.end = ReduceEnd::missing;
    result_.is_of_others = calls_ != nullptr;
    result_.status = report::Status::skipped;
    result_.reason = reason;
    return false;
  }

  std::size_t rank_count() const { return options_.job ? options_.job->rank_count : ranks_.size(); }
  std::size_t first_rank() const { return options_.job ? options_.job->first_rank : 0; }

  /// Whether the sums were right, of the other hosts too.
  bool agreed(bool is_right) {
    if (hosts_) hosts_->agree(is_right);
    return is_right;
  }

  void require(int result, const char* call, hip::ncclComm_t comm = nullptr) const {
    if (result == hip::ncclSuccess) return;
    const char* const text = calls_->ncclGetErrorString(result);
    std::string message = fmt::format("{} of {}: {} ({})", call, result_.library,
                                      text == nullptr ? "" : text, result);
    const char* const last =
        calls_->ncclGetLastError == nullptr ? nullptr : calls_->ncclGetLastError(comm);
    if (last != nullptr && *last != '\0') message += std::string(": ") + last;
    throw Error(ErrorCode::device, "all-reduce", message);
  }

  void connect() {
    step("connecting the devices");
    std::vector<int> ordinals;
    for (const Device& device : devices_) {
      device.start();
      ranks_.emplace_back(device);
      ordinals.push_back(device.native_handle());
    }
    std::vector<hip::ncclComm_t> comms(ranks_.size(), nullptr);
    if (hosts_) {
      connect_hosts(comms);
    } else {
      require(
          calls_->ncclCommInitAll(comms.data(), static_cast<int>(comms.size()), ordinals.data()),
          "ncclCommInitAll");
    }
    for (std::size_t i = 0; i < comms.size(); ++i) ranks_[i].comm = comms[i];
  }

  void connect_hosts(std::vector<hip::ncclComm_t>& comms) {
    hip::ncclUniqueId id{};
    if (hosts_->is_first()) require(calls_->ncclGetUniqueId(&id), "ncclGetUniqueId");
    hosts_->share_id(id);
    require(calls_->ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < comms.size(); ++i) {
      const DeviceGuard guard(devices_[i]);
      devices_[i].start();  // the library takes the device of the current context
      require(calls_->ncclCommInitRank(&comms[i], static_cast<int>(rank_count()), id,
                                       static_cast<int>(first_rank() + i)),
              "ncclCommInitRank");
    }
    require(calls_->ncclGroupEnd(), "ncclGroupEnd");
  }

  /// The seconds of one all-reduce, of the slowest device.
  double reduce(int type, std::uint64_t count) {
    require(calls_->ncclGroupStart(), "ncclGroupStart");
    for (ReduceRank& rank : ranks_) {
      rank.started.record(rank.stream);
      require(calls_->ncclAllReduce(rank.from.address(), rank.to.address(), count, type,
                                    hip::ncclSum, rank.comm,
                                    static_cast<hip::hipStream_t>(rank.stream.native_handle())),
              "ncclAllReduce", rank.comm);
    }
    require(calls_->ncclGroupEnd(), "ncclGroupEnd");
    for (ReduceRank& rank : ranks_) rank.ended.record(rank.stream);
    wait();
    double slowest_s = 0;
    for (ReduceRank& rank : ranks_)
      slowest_s = std::max(slowest_s, rank.ended.elapsed_s(rank.started));
    return slowest_s;
  }

  /// A library that lost a device says so here, while its kernels wait.
  void wait() {
    const auto is_running = [](const ReduceRank& rank) { return !rank.stream.is_done(); };
    for (;;) {
      const bool is_done = std::ranges::none_of(ranks_, is_running);
      for (const ReduceRank& rank : ranks_) {
        int state = hip::ncclSuccess;
        require(calls_->ncclCommGetAsyncError(rank.comm, &state), "ncclCommGetAsyncError");
        if (state != hip::ncclInProgress) require(state, "an all-reduce", rank.comm);
      }
      if (is_done) break;
      if (hosts_) hosts_->throw_if_lost();
      std::this_thread::sleep_for(reduce_look_pause);
    }
    for (const ReduceRank& rank : ranks_) rank.stream.synchronize();
  }

  /// Inputs by `value(rank, index)`; results are poisoned before.
  template <class Number, class Value>
  void fill_all(const Value& value) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::vector<Number> numbers(judged_);
      for (std::uint64_t i = 0; i < judged_; ++i) numbers[i] = value(first_rank() + r, i);
      copy_h2d_and_wait(ranks_[r].from, std::as_bytes(std::span<const Number>(numbers)));
      fill(ranks_[r].to, std::byte{0xFF}, ranks_[r].stream);
    }
  }

  /// `error(index, got)` is a share of what is allowed; above 1 and NaN are wrong.
  template <class Number, class Expected, class ErrorOf>
  bool judge(const char* data, const Expected& expected, const ErrorOf& error) {
    for (ReduceRank& rank : ranks_) {
      std::vector<Number> got(judged_);
      copy_d2h_and_wait(std::as_writable_bytes(std::span(got)), rank.to);
      report::WrongData wrong;
      for (std::uint64_t i = 0; i < judged_; ++i) {
        const double share = error(i, got[i]);
        if (share <= 1) {
          result_.max_error = std::max(result_.max_error, share);
          continue;
        }
        if (wrong.count++ > 0) continue;
        wrong.first_index = i;
        wrong.expected = expected(i);
        wrong.got = static_cast<double>(got[i]);
      }
      result_.checked += judged_;
      if (wrong.count == 0) continue;
      std::vector<Number> again(judged_);
      copy_d2h_and_wait(std::as_writable_bytes(std::span(again)), rank.to);
      wrong.reread_agrees = again == got;
      result_.wrong = wrong;
      result_.end = ReduceEnd::wrong;
      result_.status = report::Status::mismatch;
      result_.data = data;
      result_.reason = fmt::format("sums of {} on {}", data, rank.device.id());
      return false;
    }
    return true;
  }

  static std::uint32_t whole_at(std::size_t rank, std::uint64_t index) {
    return pattern_word(index, static_cast<std::uint32_t>(rank + 1) * 0x9E3779B1U);
  }
  static float float_at(std::size_t rank, std::uint64_t index) {
    constexpr float one = 8388608;  // 2^23
    return (static_cast<float>(whole_at(rank, index) >> 8) - one) / one;
  }

  bool judge_whole() {
    step("the sum of whole numbers");
    fill_all<std::uint32_t>(whole_at);
    reduce(hip::ncclUint32, judged_);
    const auto expected = [this](std::uint64_t i) {
      std::uint32_t sum = 0;
      for (std::size_t r = 0; r < rank_count(); ++r) sum += whole_at(r, i);
      return sum;
    };
    return judge<std::uint32_t>(
        "whole numbers", [&](std::uint64_t i) { return static_cast<double>(expected(i)); },
        [&](std::uint64_t i, std::uint32_t got) { return got == expected(i) ? 0.0 : 2.0; });
  }

  bool judge_floats() {
    step("the sum of floats");
    fill_all<float>(float_at);
    reduce(hip::ncclFloat32, judged_);
    const auto expected = [this](std::uint64_t i) {
      double sum = 0;
      for (std::size_t r = 0; r < rank_count(); ++r) sum += static_cast<double>(float_at(r, i));
      return sum;
    };
    return judge<float>("floats", expected, [&](std::uint64_t i, float got) {
      double magnitude = 0;
      for (std::size_t r = 0; r < rank_count(); ++r)
        magnitude += std::abs(static_cast<double>(float_at(r, i)));
      const double bound = static_cast<double>(rank_count() - 1) * 0x1p-24 * magnitude;
      const double error = std::abs(static_cast<double>(got) - expected(i));
      return error == 0 ? 0.0 : error / bound;
    });
  }

  const std::vector<Device>& devices_;
  const ReduceOptions& options_;
  ReduceResult& result_;
  const hip::NcclCalls* calls_ = nullptr;
  std::optional<ReduceHosts> hosts_;
  std::vector<ReduceRank> ranks_;
  std::uint64_t count_ = 0;
  std::uint64_t judged_ = 0;  // of them
  bool is_finished_ = false;
};

}  // namespace

ReduceResult start_reduce(const std::vector<Device>& devices, const ReduceOptions& options) {
  ReduceResult result;
  result.kind = "all-reduce";
  result.library = devices.front().platform() == Platform::amd ? "rccl" : "nccl";
  result.size_bytes = options.size_bytes;
  result.dtype = "f32";
  result.tolerance = 1;
  result.id =
      fmt::format("all-reduce.f32.{}.{}{}@", report::size_word(options.size_bytes), result.library,
                  options.job ? fmt::format(".{}hosts", options.job->hosts.size()) : "");
  for (const Device& device : devices) {
    result.destination += (result.destination.empty() ? "" : ",") + device.id();
    result.id += (result.id.back() == '@' ? "" : "+") + device.id();
  }
  result.source = result.destination;
  result.set_names();
  return result;
}

report::Measurement measurement_of(const ReduceResult& result) {
  report::Measurement measured = result;
  measured.details = {{"library_version", report::text_or_absent(result.library_version)},
                      {"library_path", report::text_or_absent(result.library_path)},
                      {"wrong_data", report::text_or_absent(result.data)}};
  return measured;
}

ReduceResult measure_reduce(const std::vector<Device>& devices, const ReduceOptions& options) {
  ReduceResult result = start_reduce(devices, options);
  try {
    ReduceRun(devices, options, result).run();
  } catch (const OtherHostEnded& ended) {
    if (result.end != ReduceEnd::done) return result;
    result.end = ReduceEnd::failed;
    result.is_of_others = true;
    result.status = report::Status::failed;
    result.reason = ended.what();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    result.end = ReduceEnd::failed;
    result.status = report::Status::failed;
    result.reason = error.what();
    result.error = error;
  }
  return result;
}

}  // namespace hiptool::measure
