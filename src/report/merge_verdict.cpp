// SPDX-License-Identifier: MIT
// Which hosts, devices and runs a merge finds fault with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "report/merge.hpp"

namespace hiptool::report {
namespace {

// Another text must not become an option or a second host of the command it is pasted into.
bool is_host_name(const std::string& name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of(letters) == std::string::npos;
}

std::string reason_or_empty(const Measurement& measured) {
  return measured.reason.empty() ? "" : ": " + measured.reason;
}

Subject subject_of(const MergedMember& member) {
  return {.host = host_of(*member.file),
          .device = member.blame.device,
          .stage = member.measured->stage,
          .measurement = member.measured->id,
          .file = member.file->path};
}

Failure straggler_failure(const MergedGroup& group, const MergedMember& member) {
  return {host_of(*member.file) + " " + place_text(member.blame) + " " + group.label,
          fmt::format("{}, the median of {}", group.shown(group.median), group.members.size()),
          group.shown(member.value), FailureKind::straggler, subject_of(member)};
}

// What to do about it, as the run itself says.
Failure with_advice(Failure failure, const Failure* own) {
  if (own == nullptr) return failure;
  failure.action = own->action;
  failure.code = own->code;
  failure.action_class = own->action_class;
  return failure;
}

Failure measurement_failure(const MergedMember& member) {
  const Measurement& measured = *member.measured;
  return with_advice({host_of(*member.file) + " " + measured.id, "ok",
                      std::string(to_string(measured.status)) + reason_or_empty(measured),
                      FailureKind::measurement, subject_of(member), measured.reason},
                     own_failure(member));
}

Failure run_failure(const RunFile& file) {
  const auto& own = file.run.failures;
  return with_advice({host_of(file) + " " + file.path,
                      "a run that passed",
                      reason_of(file.run),
                      FailureKind::run,
                      {.host = host_of(file), .file = file.path},
                      reason_of(file.run)},
                     own.empty() ? nullptr : &own.front());
}

}  // namespace

std::string MergedGroup::shown(double number) const {
  if (unit == "bytes_per_s") return format_value(number, Unit::rate);
  if (unit == "s") return format_value(number, Unit::duration);
  return format_value(number, Unit::operations);
}

std::string place_text(const Blame& blame) {
  return blame.device.empty() ? blame.source + " to " + blame.destination : blame.device;
}

const Failure* own_failure(const MergedMember& member) {
  const auto& list = member.file->run.failures;
  const auto found = std::find_if(list.begin(), list.end(), [&member](const Failure& one) {
    return one.subject.measurement == member.measured->id;
  });
  return found == list.end() ? nullptr : &*found;
}

Object member_head(const MergedMember& member) {
  const Blame& blame = member.blame;
  const DeviceTexts& device =
      texts_of(member.file->devices, blame.device.empty() ? blame.destination : blame.device);
  return {{"host", host_of(*member.file)},
          {"file", member.file->path},
          {"measurement", member.measured->id},
          {"source", text_or_absent(member.measured->source)},
          {"destination", text_or_absent(member.measured->destination)},
          {"pci_bus_id", text_or_absent(device.pci_bus_id)},
          {"uuid", text_or_absent(device.uuid)}};
}

std::string reason_of(const Run& run) {
  std::string text = run.exit_code ? exit_text(run) : "status " + run.status;
  const Failure* const first = run.failures.empty() ? nullptr : &run.failures.front();
  if (!run.error_message().empty()) {
    text += ": " + run.error_message();
  } else if (first != nullptr) {
    text += ": " + failure_text(*first);
  }
  return first == nullptr || first->code.empty() ? text : fmt::format("{} [{}]", text, first->code);
}

std::vector<Culprit> Merge::culprits() const {
  std::vector<Culprit> list;
  std::map<Blame, std::size_t> places;
  for (const MergedGroup& group : groups) {
    for (const MergedMember& member : group.members) {
      if (!member.is_slow) continue;
      const auto [place, is_new] = places.emplace(member.blame, list.size());
      if (is_new) list.push_back(Culprit{member.blame});
      Culprit& culprit = list[place->second];
      ++culprit.measurements;
      const double loss = group.loss_of(member.value);
      if (culprit.worst_group != nullptr && loss <= culprit.worst_loss) continue;
      culprit.worst_group = &group;
      culprit.worst_value = member.value;
      culprit.worst_loss = loss;
      culprit.worst_deviation = member.deviation;
      culprit.is_time = group.is_time();
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const Culprit& left, const Culprit& right) {
    return left.worst_loss > right.worst_loss;
  });
  return list;
}

std::size_t Merge::count_hosts() const {
  std::set<std::string> hosts;
  for (const auto* list : {&files, &failed_runs}) {
    for (const RunFile& file : *list) hosts.insert(host_of(file));
  }
  return hosts.size();
}

std::size_t Merge::count_unreadable() const {
  return static_cast<std::size_t>(std::count_if(
      skipped.begin(), skipped.end(), [](const SkippedFile& file) { return file.is_unreadable; }));
}

std::string Merge::hint_or(std::string usual) const {
  std::set<std::string> hints;
  for (const SkippedFile& file : skipped) {
    if (file.is_unreadable) hints.insert(file.hint);
  }
  const bool is_one = hints.size() == 1 && !hints.begin()->empty();
  return is_one ? *hints.begin() : usual;
}

std::vector<const RunFile*> Merge::unexplained_runs() const {
  std::set<const RunFile*> explained;
  for (const MergedMember& member : failures) explained.insert(member.file);
  std::vector<const RunFile*> runs;
  for (const RunFile& file : files) {
    if (!file.run.passed && explained.count(&file) == 0) runs.push_back(&file);
  }
  for (const RunFile& file : failed_runs) runs.push_back(&file);
  return runs;
}

std::vector<const RunFile*> Merge::bad_files() const {
  std::vector<const RunFile*> bad = unexplained_runs();
  for (const MergedGroup& group : groups) {
    for (const MergedMember& member : group.members) {
      if (member.is_slow) bad.push_back(member.file);
    }
  }
  for (const MergedMember& member : failures) bad.push_back(member.file);
  return bad;
}

std::vector<std::string> Merge::excluded_hosts() const {
  std::set<std::string> hosts;
  for (const RunFile* const file : bad_files()) {
    if (is_host_name(file->run.host.name)) hosts.insert(file->run.host.name);
  }
  std::vector<std::string> names(hosts.begin(), hosts.end());
  std::sort(names.begin(), names.end(), base::is_natural_before);
  return names;
}

std::vector<std::string> Merge::unnamed_hosts() const {
  std::set<std::string> hosts;
  for (const RunFile* const file : bad_files()) {
    if (!is_host_name(file->run.host.name)) hosts.insert(host_of(*file));
  }
  return {hosts.begin(), hosts.end()};
}

// A rank that died, or wrote half a file, does not prove that the others are sound.
std::optional<Error> Merge::error() const {
  const std::size_t unreadable = count_unreadable();
  if (unreadable == 0) return std::nullopt;
  std::string message = fmt::format("cannot use {} of {}:", base::count_of(unreadable, "file"),
                                    files.size() + failed_runs.size() + unreadable);
  for (const SkippedFile& file : skipped) {
    if (file.is_unreadable) message += "\n" + file.text();
  }
  return Error(ErrorCode::input_failed, "report merge", message,
               hint_or("find out why these runs left no result, or leave the files out"));
}

std::vector<Failure> Merge::run_failures() const {
  std::vector<Failure> list;
  for (const MergedMember& member : failures) list.push_back(measurement_failure(member));
  for (const MergedGroup& group : groups) {
    for (const MergedMember& member : group.members) {
      if (member.is_slow) list.push_back(straggler_failure(group, member));
    }
  }
  for (const RunFile* file : unexplained_runs()) list.push_back(run_failure(*file));
  if (list.empty() && !has_common()) {
    list.push_back({"measurements made more than once", "at least 1", 0, FailureKind::no_common});
  }
  return list;
}

}  // namespace hiptool::report
