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
      if (result_.end == ReduceEnd::done) {
        calls_->ncclCommDestroy(rank.comm);
      } else {
        calls_->ncclCommAbort(rank.comm);
      }
    }
  }
  ReduceRun(const ReduceRun&) = delete;
  ReduceRun& operator=(const ReduceRun&) = delete;

  void run() {
    if (!open()) return;
    connect();
    count_ = options_.size_bytes / sizeof(std::uint32_t);
    for (ReduceRank& rank : ranks_) {
      rank.from = Buffer(rank.device, count_ * sizeof(std::uint32_t));
      rank.to = Buffer(rank.device, count_ * sizeof(std::uint32_t));
    }
    if (!judge_whole() || !judge_floats()) return;
    step("timing");
    for (std::size_t i = 0; i < options_.samples; ++i)
      result_.samples_s.push_back(reduce(hip::ncclFloat32));
    result_.median_s = base::median(result_.samples_s);
    const auto n = static_cast<double>(ranks_.size());
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
    if (calls_ != nullptr) return true;
    result_.end = ReduceEnd::missing;
    result_.status = report::Status::skipped;
    result_.reason = library.reason;
    return false;
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
    require(calls_->ncclCommInitAll(comms.data(), static_cast<int>(comms.size()), ordinals.data()),
            "ncclCommInitAll");
    for (std::size_t i = 0; i < comms.size(); ++i) ranks_[i].comm = comms[i];
  }

  /// The seconds of one all-reduce, of the slowest device.
  double reduce(int type) {
    require(calls_->ncclGroupStart(), "ncclGroupStart");
    for (ReduceRank& rank : ranks_) {
      rank.started.record(rank.stream);
      require(calls_->ncclAllReduce(rank.from.address(), rank.to.address(), count_, type,
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
      std::this_thread::sleep_for(reduce_look_pause);
    }
    for (const ReduceRank& rank : ranks_) rank.stream.synchronize();
  }

  /// Inputs by `value(rank, index)`; results are poisoned before.
  template <class Number, class Value>
  void fill_all(const Value& value) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::vector<Number> numbers(count_);
      for (std::uint64_t i = 0; i < count_; ++i) numbers[i] = value(r, i);
      copy_h2d_and_wait(ranks_[r].from, std::as_bytes(std::span<const Number>(numbers)));
      fill(ranks_[r].to, std::byte{0xFF}, ranks_[r].stream);
    }
  }

  /// `error(index, got)` is a share of what is allowed; above 1 and NaN are wrong.
  template <class Number, class Expected, class ErrorOf>
  bool judge(const char* data, const Expected& expected, const ErrorOf& error) {
    for (ReduceRank& rank : ranks_) {
      std::vector<Number> got(count_);
      copy_d2h_and_wait(std::as_writable_bytes(std::span(got)), rank.to);
      report::WrongData wrong;
      for (std::uint64_t i = 0; i < count_; ++i) {
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
      result_.checked += count_;
      if (wrong.count == 0) continue;
      std::vector<Number> again(count_);
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
    reduce(hip::ncclUint32);
    const auto expected = [this](std::uint64_t i) {
      std::uint32_t sum = 0;
      for (std::size_t r = 0; r < ranks_.size(); ++r) sum += whole_at(r, i);
      return sum;
    };
    return judge<std::uint32_t>(
        "whole numbers", [&](std::uint64_t i) { return static_cast<double>(expected(i)); },
        [&](std::uint64_t i, std::uint32_t got) { return got == expected(i) ? 0.0 : 2.0; });
  }

  bool judge_floats() {
    step("the sum of floats");
    fill_all<float>(float_at);
    reduce(hip::ncclFloat32);
    const auto expected = [this](std::uint64_t i) {
      double sum = 0;
      for (std::size_t r = 0; r < ranks_.size(); ++r) sum += static_cast<double>(float_at(r, i));
      return sum;
    };
    return judge<float>("floats", expected, [&](std::uint64_t i, float got) {
      double magnitude = 0;
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        magnitude += std::abs(static_cast<double>(float_at(r, i)));
      const double bound = static_cast<double>(ranks_.size() - 1) * 0x1p-24 * magnitude;
      const double error = std::abs(static_cast<double>(got) - expected(i));
      return error == 0 ? 0.0 : error / bound;
    });
  }

  const std::vector<Device>& devices_;
  const ReduceOptions& options_;
  ReduceResult& result_;
  const hip::NcclCalls* calls_ = nullptr;
  std::vector<ReduceRank> ranks_;
  std::uint64_t count_ = 0;
};

ReduceResult start_reduce(const std::vector<Device>& devices, const ReduceOptions& options) {
  ReduceResult result;
  result.kind = "all-reduce";
  result.library = devices.front().platform() == Platform::amd ? "rccl" : "nccl";
  result.size_bytes = options.size_bytes;
  result.dtype = "f32";
  result.tolerance = 1;
  result.id =
      fmt::format("all-reduce.f32.{}.{}@", report::size_word(options.size_bytes), result.library);
  for (const Device& device : devices) {
    result.destination += (result.destination.empty() ? "" : ",") + device.id();
    result.id += (result.id.back() == '@' ? "" : "+") + device.id();
  }
  result.source = result.destination;
  result.set_names();
  return result;
}

// ---- the result as JSON

using report::member;

report::Object reduce_record(const ReduceResult& result) {
  report::Object record{
      {"status", to_string(result.status)},
      {"reason", result.reason},
      {"end", static_cast<std::uint64_t>(result.end)},
      {"version", result.library_version},
      {"path", result.library_path},
      {"data", result.data},
      {"checked", result.checked},
      {"max_error", result.max_error},
      {"samples_s", report::Array(result.samples_s.begin(), result.samples_s.end())},
      {"median_s", result.median_s},
      {"bytes_per_s", result.bytes_per_s}};
  if (result.wrong) {
    record.emplace_back("first", result.wrong->first_index);
    record.emplace_back("expected", result.wrong->expected);
    record.emplace_back("got", result.wrong->got);
    record.emplace_back("count", result.wrong->count);
    record.emplace_back("reread", std::uint64_t{result.wrong->reread_agrees});
  }
  return record;
}

void apply_reduce_record(const report::Value& record, ReduceResult& result) {
  const auto text = [&](const char* name) { return report::text_of(member(record, name)); };
  const auto whole = [&](const char* name) { return report::count_of(member(record, name)); };
  const auto number = [&](const char* name) { return report::number_of(member(record, name)); };
  result.status = report::parse_status(text("status"));
  result.reason = text("reason");
  result.end = static_cast<ReduceEnd>(std::min<std::uint64_t>(
      whole("end").value_or(0), static_cast<std::uint64_t>(ReduceEnd::hung)));
  result.library_version = text("version");
  result.library_path = text("path");
  result.data = text("data");
  result.checked = whole("checked").value_or(0);
  result.max_error = number("max_error").value_or(0);
  for (const report::Value& one : report::elements(member(record, "samples_s")))
    result.samples_s.push_back(report::number_of(one).value_or(0));
  result.median_s = number("median_s");
  result.bytes_per_s = number("bytes_per_s");
  if (const auto count = whole("count")) {
    report::WrongData wrong;
    wrong.first_index = whole("first");
    wrong.count = *count;
    if (const auto expected = number("expected")) wrong.expected = *expected;
    wrong.got = number("got").value_or(std::nan(""));
    wrong.reread_agrees = whole("reread").value_or(0) != 0;
    result.wrong = wrong;
  }
  if (result.status == report::Status::failed)
    result.error = Error(ErrorCode::device, result.library, result.reason);
}

}  // namespace

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
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    result.end = ReduceEnd::failed;
    result.status = report::Status::failed;
    result.reason = error.what();
    result.error = error;
  }
  return result;
}

ReduceResult reduce_in_child(const LibraryChild& child, const std::vector<Device>& devices,
                             const ReduceOptions& options) {
  ReduceResult result = start_reduce(devices, options);
  report::Array ids;
  for (const Device& device : devices) ids.emplace_back(device.id());
  report::Object request{{"devices", std::move(ids)},
                         {"size_bytes", options.size_bytes},
                         {"samples", std::uint64_t{options.samples}}};
  const ChildEnd end = run_measuring_child(child, "measure-collective", result.library,
                                           std::move(request), options.cancel);
  if (!end.record.is_absent()) {
    apply_reduce_record(end.record, result);
    return result;
  }
  result.end = end.has_timed_out ? ReduceEnd::hung : ReduceEnd::failed;
  result.status = report::Status::failed;
  result.reason = end.reason;
  result.error = Error(end.code, result.library, end.reason);
  return result;
}

void run_reduce_child(const std::string& request_path, const std::string& result_path,
                      const MakePlatforms& make_platforms) {
  ChildRequest child(request_path, result_path, make_platforms);
  std::vector<Device> devices;
  for (const report::Value& id : report::elements(member(child.request(), "devices")))
    devices.push_back(find_device(child.platforms(), report::text_of(id)));
  if (devices.empty())
    throw Error(ErrorCode::invalid_argument, "measure-collective", "no device was named");
  ReduceOptions options;
  const auto whole = [&](const char* name) {
    return report::count_of(member(child.request(), name)).value_or(0);
  };
  options.size_bytes = whole("size_bytes");
  options.samples = whole("samples");
  options.on_step = [&](const std::string& step) { child.write({{"step", step}}); };
  child.write(reduce_record(measure_reduce(devices, options)));
}

}  // namespace hiptool::measure
