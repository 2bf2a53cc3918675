// SPDX-License-Identifier: MIT
#include "made_report.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "report/reader.hpp"

namespace hiptool::fuzz {
namespace {

using report::Array;
using report::Object;
using report::Value;

using Limits = std::numeric_limits<double>;

constexpr std::array reals{0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           1e308,
                           1.7e308,
                           -1.7e308,
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           1e18,
                           0x1p64,
                           1e-300,
                           0.05,
                           1e15,
                           18446744073709549568.0};

constexpr std::array<std::string_view, 56> words{"",
                                                 "ok",
                                                 "failed",
                                                 "mismatch",
                                                 "skipped",
                                                 "verified",
                                                 "loaded",
                                                 "wrong",
                                                 "interrupted",
                                                 "planned",
                                                 "host",
                                                 "nvidia:0",
                                                 "nvidia:1",
                                                 "amd:0",
                                                 "amd:10",
                                                 "cpu:0",
                                                 "nvidia:0,nvidia:1",
                                                 "h2d",
                                                 "d2h",
                                                 "p2p-read",
                                                 "pinned",
                                                 "copy",
                                                 "kernel",
                                                 "fill.f32",
                                                 "h2d.pinned.copy.1KiB@host",
                                                 "stream-triad.f32@nvidia:0",
                                                 "=1+1",
                                                 "+1",
                                                 "-1",
                                                 "-x",
                                                 "@SUM(A1)",
                                                 "\t=1",
                                                 "\r=1",
                                                 " =1",
                                                 "a,b",
                                                 "\"",
                                                 "a\nb",
                                                 "<b>&'\"",
                                                 "\x1b[2J",
                                                 "\xff\xfe",
                                                 "\u202e",
                                                 "\uff1d1",
                                                 "\ufffe",
                                                 "|`*_#$",
                                                 "{label=\"x\"}",
                                                 "n1",
                                                 "n2",
                                                 "n3",
                                                 "SLOWER",
                                                 "AMBIGUOUS",
                                                 "fail",
                                                 "unknown",
                                                 "2026-03-01T12:00:00Z",
                                                 "NVIDIA H200",
                                                 "h2d.pinned>=48GB/s",
                                                 "hiptool.bench-copy/1"};

enum class Usual { text, real, count, truth };

Value usual_value(ByteSource& source, Usual usual) {
  switch (usual) {
    case Usual::text: return source.text();
    case Usual::real: return source.real();
    case Usual::count: return source.whole();
    case Usual::truth: return source.byte() % 2 == 0;
  }
  return {};
}

// Mostly of the usual type; else absent, without the member, or anything.
void add_field(Object& object, const char* name, ByteSource& source, Usual usual) {
  const std::uint8_t how = source.byte();
  if (how < 224) {
    object.emplace_back(name, usual_value(source, usual));
  } else if (how < 232) {
    object.emplace_back(name, Value());
  } else if (how >= 240) {
    object.emplace_back(name, source.value(2));
  }
}

void add_fields(Object& object, ByteSource& source, Usual usual,
                std::initializer_list<const char*> names) {
  for (const char* name : names) add_field(object, name, source, usual);
}

template <class MakeElement>
Value list_of(ByteSource& source, std::size_t most, MakeElement make_element) {
  Array list;
  const std::size_t count = source.below(most + 1);
  for (std::size_t i = 0; i < count && !source.is_empty(); ++i) list.push_back(make_element(i));
  return list;
}

// An unsteady run of times is made of few bytes.
Value samples(ByteSource& source) {
  const std::uint8_t how = source.byte();
  if (how >= 240) return source.value(2);
  Array list;
  const std::size_t count = how % 13;
  const double first = source.real();
  for (std::size_t i = 0; i < count; ++i) {
    list.emplace_back(how >= 128 ? source.real() : first * (1 + 0.01 * static_cast<double>(i)));
  }
  return list;
}

Object device(ByteSource& source) {
  Object fields;
  add_fields(fields, source, Usual::text, {"id", "name", "uuid", "pci_bus_id", "platform"});
  add_fields(fields, source, Usual::real, {"clock_hz", "copy_bytes_per_s", "copy_time_s"});
  add_fields(fields, source, Usual::count, {"bytes", "memory_total_bytes"});
  return fields;
}

Value context(ByteSource& source) {
  Object devices;
  for (const char* id : {"nvidia:0", "nvidia:1"}) {
    Object link;
    Object clocks;
    for (const char* phase : {"before", "during", "after"}) {
      Object reading;
      add_field(reading, "width", source, Usual::count);
      link.emplace_back(phase, std::move(reading));
      Object clock;
      add_field(clock, "clock_hz", source, Usual::real);
      clocks.emplace_back(phase, std::move(clock));
    }
    Object fields{{"link", std::move(link)}, {"clocks", std::move(clocks)}};
    add_fields(fields, source, Usual::text, {"name", "uuid", "driver"});
    devices.emplace_back(id, std::move(fields));
  }
  return Object{{"devices", std::move(devices)}};
}

Object failure(ByteSource& source) {
  Object fields;
  add_fields(fields, source, Usual::text,
             {"what", "expected", "kind", "device", "measurement", "reason"});
  add_field(fields, "got", source, Usual::real);
  return fields;
}

Object head_of(ByteSource& source, const char* kind) {
  Object host;
  add_field(host, "name", source, Usual::text);
  add_field(host, "cores", source, Usual::count);
  const std::uint8_t parts = source.byte();
  const char* const version = (parts & 64) != 0 ? "/1" : "/2";
  Object document{{"schema", std::string("hiptool.") + kind + version}, {"host", std::move(host)}};
  add_fields(document, source, Usual::text, {"started_at", "status"});
  if ((parts & 1) != 0) add_field(document, "exit_code", source, Usual::count);
  if ((parts & 2) != 0) add_field(document, "passed", source, Usual::truth);
  if ((parts & 4) != 0) {
    document.emplace_back("failures", list_of(source, 3, [&](auto) { return failure(source); }));
  }
  if ((parts & 8) != 0) {
    Object error;
    add_fields(error, source, Usual::text, {"code", "message", "hint"});
    document.emplace_back("error", std::move(error));
  }
  if ((parts & 16) != 0) document.emplace_back("context", context(source));
  if ((parts & 32) != 0) {
    document.emplace_back("devices", list_of(source, 3, [&](auto) { return device(source); }));
  }
  return document;
}

// Mostly another one for each.
Value id_of(ByteSource& source, std::size_t index) {
  const std::uint8_t how = source.byte();
  if (how >= 224) return source.text();
  std::string text = how < 32 ? source.text() : std::string(words[24 + how % 2]);
  return text + std::to_string(index);
}

Object copy_cell(ByteSource& source, std::size_t index) {
  Object cell{{"id", id_of(source, index)}};
  add_fields(cell, source, Usual::text,
             {"kind", "memory", "engine", "source", "destination", "status", "reason"});
  add_field(cell, "size_bytes", source, Usual::count);
  cell.emplace_back("samples_s", samples(source));
  add_fields(
      cell, source, Usual::real,
      {"median_bytes_per_s", "median_s", "p05_bytes_per_s", "p95_bytes_per_s", "share_of_limit"});
  return cell;
}

Object kernel_result(ByteSource& source, std::size_t index) {
  Object result{{"id", id_of(source, index)}};
  add_fields(result, source, Usual::text, {"kernel", "dtype", "device", "status", "reason"});
  add_fields(result, source, Usual::count, {"elements", "size_bytes"});
  result.emplace_back("samples_s", samples(source));
  add_fields(result, source, Usual::real,
             {"median_s", "bytes_per_s", "flops_per_s", "share_of_peak"});
  return result;
}

// Of the second version.
Object measurement(ByteSource& source, std::size_t index) {
  Object result{{"id", id_of(source, index)}};
  add_fields(result, source, Usual::text,
             {"label", "series", "kind", "source", "destination", "dtype", "status", "reason"});
  add_field(result, "size_bytes", source, Usual::count);
  result.emplace_back("devices", list_of(source, 2, [&](auto) { return Value(source.text()); }));
  result.emplace_back("samples_s", samples(source));
  add_fields(result, source, Usual::real,
             {"median_s", "bytes_per_s", "p05_bytes_per_s", "p95_bytes_per_s", "flops_per_s",
              "share_of_limit"});
  Object details;
  add_fields(details, source, Usual::text, {"memory", "kernel"});
  result.emplace_back("details", std::move(details));
  return result;
}

bool is_first_version(const Object& document) { return kind_of(document).version == "1"; }

Object threshold(ByteSource& source) {
  Object fields;
  add_fields(fields, source, Usual::text, {"threshold", "cell", "measurement", "reason"});
  add_fields(fields, source, Usual::real, {"measured_bytes_per_s", "least_bytes_per_s"});
  add_field(fields, "is_met", source, Usual::truth);
  return fields;
}

Object compared(ByteSource& source) {
  Object fields;
  add_fields(fields, source, Usual::text, {"id", "verdict", "reason"});
  add_fields(fields, source, Usual::real, {"change", "rate_change", "low", "high"});
  return fields;
}

Object load(ByteSource& source) {
  Object document = head_of(source, "load");
  Object model;
  add_field(model, "path", source, Usual::text);
  add_field(model, "bytes", source, Usual::count);
  document.emplace_back("model", std::move(model));
  add_fields(document, source, Usual::real,
             {"load_time_s", "bytes_per_s", "share_of_limit", "wall_time_s"});
  Object values;
  add_fields(values, source, Usual::count, {"nan", "inf"});
  document.emplace_back("values", std::move(values));
  document.emplace_back(
      "verify", Object{{"mismatches", list_of(source, 2, [&](auto) { return source.value(2); })}});
  return document;
}

Object other(ByteSource& source, const char* kind) {
  Object document = head_of(source, kind);
  const auto check = [&source](std::size_t) {
    Object fields;
    add_fields(fields, source, Usual::text,
               {"id", "severity", "device", "read", "source", "expected", "fix"});
    return fields;
  };
  document.emplace_back("checks", list_of(source, 3, check));
  document.emplace_back(is_first_version(document) ? "cells" : "comparisons",
                        list_of(source, 3, [&](auto) { return compared(source); }));
  document.emplace_back("platforms", list_of(source, 2, [&](auto) { return source.value(2); }));
  document.emplace_back("x" + source.text(), source.value(3));  // no name twice
  return document;
}

}  // namespace

std::uint64_t ByteSource::whole() {
  const std::uint8_t how = byte();
  if (how < 128) return std::uint64_t{1} << (how % 64);
  if (how < 192) return how;
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | byte();
  return number;
}

double ByteSource::real() {
  const std::uint8_t how = byte();
  if (how < reals.size()) return reals[how];
  if (how < 128) return how * 0.5e-3;
  if (how < 192) return how * 1e9;
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
  return std::bit_cast<double>(bits);
}

std::string ByteSource::text() {
  const std::uint8_t how = byte();
  if (how < 240) return std::string(words[how % words.size()]);
  std::string text;
  for (int i = how - 240; i > 0; --i) text += static_cast<char>(byte());
  return text;
}

Value ByteSource::value(int depth) {
  switch (below(depth > 0 ? 8 : 6)) {
    case 0: return {};
    case 1: return byte() % 2 == 0;
    case 2: return static_cast<std::int64_t>(whole());
    case 3: return whole();
    case 4: return real();
    case 5: return text();
    case 6: return list_of(*this, 4, [&](auto) { return value(depth - 1); });
    default: break;
  }
  Object members;
  const std::size_t count = below(5);
  for (std::size_t i = 0; i < count; ++i) {
    members.emplace_back(text() + std::to_string(i), value(depth - 1));
  }
  return members;
}

Object made_measurements(ByteSource& source, bool are_copies) {
  Object document = head_of(source, are_copies ? "bench-copy" : "run-kernel");
  const bool is_first = is_first_version(document);
  const auto measured = [&](std::size_t index) {
    if (!is_first) return measurement(source, index);
    return are_copies ? copy_cell(source, index) : kernel_result(source, index);
  };
  const char* const old_name = are_copies ? "cells" : "results";
  document.emplace_back(is_first ? old_name : "measurements", list_of(source, 8, measured));
  document.emplace_back("thresholds", list_of(source, 2, [&](auto) { return threshold(source); }));
  document.emplace_back(is_first ? "baseline" : "comparisons",
                        list_of(source, 2, [&](auto) { return compared(source); }));
  return document;
}

Object made_document(ByteSource& source) {
  switch (source.below(6)) {
    case 0:
    case 1: return made_measurements(source, true);
    case 2: return made_measurements(source, false);
    case 3: return load(source);
    case 4: return other(source, "devices");
    default: return other(source, "report");
  }
}

}  // namespace hiptool::fuzz
