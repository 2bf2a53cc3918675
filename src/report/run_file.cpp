// SPDX-License-Identifier: MIT
#include "report/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/input_file.hpp"
#include "hiptool/error.hpp"
#include "report/tree.hpp"

namespace hiptool::report {
namespace {

constexpr std::uint64_t largest_bytes = 256u << 20;

// Fields besides the measurements that compare and merge show or judge by.
constexpr std::array<std::string_view, 4> kept_fields{"host", "started_at", "context", "error"};

Object head_of(Object document) {
  Object head;
  for (auto& [name, value] : document) {
    if (std::find(kept_fields.begin(), kept_fields.end(), name) == kept_fields.end()) continue;
    head.emplace_back(name, std::move(value));
  }
  return head;
}

}  // namespace

Object parse_report_document(std::string_view text, const std::string& path) {
  Value tree = parse_json(text, path);
  Object document;
  if (auto* object = tree.object()) document = std::move(*object);
  const DocumentKind kind = kind_of(document);
  if (kind.name.empty()) {
    throw Error(ErrorCode::corrupt_data, "read",
                path + ": JSON, but no document of hiptool (it has no schema of its own)",
                "give a document that hiptool wrote with --format json or --export json=FILE");
  }
  if (kind.name == "manifest") {
    throw Error(ErrorCode::input_failed, "read", path + ": a manifest, not the result of a run",
                "compare a model with it by `hiptool load MODEL --check-manifest FILE`");
  }
  if (kind.version != "1") {
    throw Error(ErrorCode::unsupported, "read",
                fmt::format("{}: hiptool.{}/{} is a version that this hiptool does not know", path,
                            kind.name, kind.version),
                "use the hiptool that wrote it, or a newer one");
  }
  return document;
}

Object read_report_document(const std::string& path, const CancelToken* cancel) {
  return parse_report_document(base::read_input_file(path, largest_bytes, cancel), path);
}

ReportFile report_file_of(Object document, const std::string& path) {
  ReportFile file;
  file.path = path;
  file.kind = kind_of(document);
  file.status = text_of(member(document, "status"));
  file.verdict = verdict_of(document);
  try {
    file.measured = measurements(document);
  } catch (const Error& error) {
    throw error.with_context(path);
  }
  file.devices = device_texts(document);
  file.head = head_of(std::move(document));
  return file;
}

ReportFile read_report_file(const std::string& path, const CancelToken* cancel) {
  return report_file_of(read_report_document(path, cancel), path);
}

}  // namespace hiptool::report
