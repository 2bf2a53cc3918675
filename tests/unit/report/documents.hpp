// SPDX-License-Identifier: MIT
/// Documents that the tests of several writers share.
#pragma once
#include <string>

#include "report/reader.hpp"

namespace hiptool::report {

inline Object parsed(const std::string& text) {
  return std::get<Object>(parse_json(text, "sample").data());
}

/// The typed results of a document.
inline Report report_with(const std::string& text) { return read_report(parsed(text)); }

inline std::vector<Measurement> measurements(const Object& document) {
  return read_report(document).measurements;
}

inline std::string copy_cell(const std::string& id, const std::string& source,
                             const std::string& destination, std::uint64_t size_bytes, double rate,
                             const std::string& status = "ok") {
  return R"({"id":")" + id + R"(","kind":"h2d","memory":"pinned","engine":"copy","source":")" +
         source + R"(","destination":")" + destination + R"(","size_bytes":)" +
         std::to_string(size_bytes) + R"(,"status":")" + status +
         R"(","reason":null,"samples_s":[0.5,0.25,1],"median_bytes_per_s":)" +
         std::to_string(rate) + "}";
}

inline std::string bench_copy(const std::string& cells, const std::string& more = "") {
  return R"({"schema":"hiptool.bench-copy/1","tool":{"version":"1"},"host":{"name":"n1",
    "cores":4},"started_at":"2026-03-01T12:00:00Z","status":"ok",)" +
         more + R"("cells":[)" + cells + "]}";
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace hiptool::report
