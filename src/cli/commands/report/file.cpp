// SPDX-License-Identifier: MIT
#include "cli/commands/report/file.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "report/tree.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t largest_bytes = 256u << 20;

std::string read_whole(const std::string& path) {
  const base::File file = base::File::open(path);
  if (file.size_bytes() > largest_bytes) {
    throw Error(ErrorCode::corrupt_data, "read", path + ": too large for a report of hiptool");
  }
  std::string text(static_cast<std::size_t>(file.size_bytes()), '\0');
  file.read_at(std::as_writable_bytes(std::span(text.data(), text.size())), 0);
  return text;
}

}  // namespace

ReportFile read_report_file(const std::string& path) {
  const report::Value tree = report::parse_json(read_whole(path), path);
  ReportFile file;
  file.path = path;
  if (const auto* object = std::get_if<report::Object>(&tree.data())) file.document = *object;
  file.kind = report::kind_of(file.document);
  if (file.kind.name.empty()) {
    throw Error(ErrorCode::corrupt_data, "read",
                path + ": JSON, but no document of hiptool (it has no schema of its own)",
                "give a document that hiptool wrote with --format json or --export json=FILE");
  }
  if (file.kind.name == "manifest") {
    throw Error(ErrorCode::input_failed, "read", path + ": a manifest, not the result of a run",
                "compare a model with it by `hiptool load MODEL --check-manifest FILE`");
  }
  if (file.kind.version != "1") {
    throw Error(ErrorCode::unsupported, "read",
                fmt::format("{}: hiptool.{}/{} is a version that this hiptool does not know", path,
                            file.kind.name, file.kind.version),
                "use the hiptool that wrote it, or a newer one");
  }
  file.status = report::text_of(report::member(file.document, "status"));
  file.verdict = report::verdict_of(file.document);
  try {
    file.measured = report::measurements(file.document);
  } catch (const Error& error) {
    throw error.with_context(path);
  }
  return file;
}

}  // namespace hiptool::cli
