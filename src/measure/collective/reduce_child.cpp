// SPDX-License-Identifier: MIT
// The request for an all-reduce in a process of its own, and its result.
#include <algorithm>
#include <cmath>
#include <utility>

#include "hiptool/error.hpp"
#include "measure/collective/reduce.hpp"

namespace hiptool::measure {
namespace {

using report::member;

report::Object reduce_record(const ReduceResult& result) {
  report::Object record{
      {"status", to_string(result.status)},
      {"reason", result.reason},
      {"end", static_cast<std::uint64_t>(result.end)},
      {"version", result.library_version},
      {"path", result.library_path},
      {"data", result.data},
      {"of_others", std::uint64_t{result.is_of_others}},
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
  result.is_of_others = whole("of_others").value_or(0) != 0;
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

report::Object job_record(const ReduceJob& job) {
  return {{"hosts", report::Array(job.hosts.begin(), job.hosts.end())},
          {"own", std::uint64_t{job.own}},
          {"port", std::uint64_t{job.port}},
          {"first_rank", std::uint64_t{job.first_rank}},
          {"rank_count", std::uint64_t{job.rank_count}},
          {"timeout_s", job.timeout_s}};
}

std::optional<ReduceJob> parse_job(const report::Value& record) {
  if (record.is_absent()) return {};
  const auto whole = [&](const char* name) {
    return report::count_of(member(record, name)).value_or(0);
  };
  ReduceJob job;
  for (const report::Value& host : report::elements(member(record, "hosts")))
    job.hosts.push_back(report::text_of(host));
  job.own = whole("own");
  job.port = static_cast<std::uint16_t>(whole("port"));
  job.first_rank = whole("first_rank");
  job.rank_count = whole("rank_count");
  job.timeout_s = report::number_of(member(record, "timeout_s")).value_or(0);
  return job;
}

}  // namespace

ReduceResult reduce_in_child(const LibraryChild& child, const std::vector<Device>& devices,
                             const ReduceOptions& options) {
  ReduceResult result = start_reduce(devices, options);
  report::Array ids;
  for (const Device& device : devices) ids.emplace_back(device.id());
  report::Object request{{"devices", std::move(ids)},
                         {"size_bytes", options.size_bytes},
                         {"samples", std::uint64_t{options.samples}}};
  if (options.job) request.emplace_back("job", job_record(*options.job));
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
  options.job = parse_job(member(child.request(), "job"));
  options.on_step = [&](const std::string& step) { child.write({{"step", step}}); };
  child.write(reduce_record(measure_reduce(devices, options)));
}

}  // namespace hiptool::measure
