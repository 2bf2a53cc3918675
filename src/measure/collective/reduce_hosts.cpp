// SPDX-License-Identifier: MIT
#include "measure/collective/reduce_hosts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::measure {
namespace {

constexpr std::uint64_t most_judged_terms = 1u << 28;
constexpr char library_found = '+';
constexpr char library_missing = '-';

system::HostGroup connect_reduce_hosts(const ReduceJob& job, const CancelToken* cancel) {
  system::HostGroupOptions options;
  options.hosts = job.hosts;
  options.own = job.own;
  options.port = job.port;
  options.timeout_s = job.timeout_s;
  options.cancel = cancel;
  return system::HostGroup(std::move(options));
}

}  // namespace

std::uint64_t judged_elements(std::uint64_t count, std::size_t ranks, std::size_t own_devices) {
  const std::uint64_t most = most_judged_terms / ranks / own_devices;
  return std::min(count, std::max<std::uint64_t>(most, 1));
}

ReduceHosts::ReduceHosts(const ReduceJob& job, const CancelToken* cancel)
    : group_(connect_reduce_hosts(job, cancel)),
      timeout_s_(job.timeout_s),
      is_first_(job.own == 0) {}

std::vector<std::string> ReduceHosts::share(const std::string& own) {
  std::vector<std::string> texts;
  try {
    for (std::optional<std::string>& text : group_.share(own, timeout_s_)) {
      if (!text) throw OtherHostEnded(group_.hosts()[texts.size()] + " ended");
      texts.push_back(std::move(*text));
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    throw OtherHostEnded(error.what());
  }
  return texts;
}

std::string ReduceHosts::agree_on_library(const hip::NcclLibrary& own) {
  const bool is_found = own.calls != nullptr;
  const std::vector<std::string> texts =
      share(is_found ? library_found + own.version : library_missing + own.reason);
  std::vector<std::string> missing;
  std::map<std::string, std::vector<std::string>> hosts_of_version;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& host = group_.hosts()[i];
    const std::string rest = texts[i].substr(std::min<std::size_t>(1, texts[i].size()));
    if (texts[i].starts_with(library_found)) {
      hosts_of_version[rest].push_back(host);
    } else {
      missing.push_back(host + ": " + rest);
    }
  }
  if (!missing.empty()) return fmt::format("{}", fmt::join(missing, "; "));
  if (hosts_of_version.size() < 2) return {};
  std::vector<std::string> versions;
  for (const auto& [version, hosts] : hosts_of_version)
    versions.push_back(fmt::format("{} on {}", version, fmt::join(hosts, ", ")));
  throw Error(ErrorCode::unsupported, "all-reduce",
              fmt::format("the hosts have different versions of {}: {}", own.name,
                          fmt::join(versions, "; ")));
}

void ReduceHosts::share_id(hip::ncclUniqueId& id) {
  const std::string own(id.internal, is_first_ ? sizeof(id.internal) : 0);
  const std::string first = share(own).front();
  if (first.size() != sizeof(id.internal))
    throw OtherHostEnded(group_.hosts().front() + " made no id");
  std::memcpy(id.internal, first.data(), sizeof(id.internal));
}

void ReduceHosts::agree(bool goes_on) {
  const std::vector<std::string> texts = share(goes_on ? "yes" : "no");
  for (std::size_t i = 0; goes_on && i < texts.size(); ++i) {
    if (texts[i] != "yes") throw OtherHostEnded(group_.hosts()[i] + " stopped");
  }
}

void ReduceHosts::throw_if_lost() const {
  const std::string lost = group_.find_lost();
  if (!lost.empty()) throw OtherHostEnded(lost + " ended");
}

}  // namespace hiptool::measure
