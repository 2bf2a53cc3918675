// SPDX-License-Identifier: MIT
/// A command of this program in a process of its own: it reads what to measure from one file, and
/// writes its steps and its result to another.
#pragma once
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "hiptool/cancel.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "measure/library/measure.hpp"
#include "report/tree.hpp"

namespace hiptool::measure {

/// How a child ended: with a record, or with a reason for having none.
struct ChildEnd {
  report::Value record;  ///< absent: see the others
  ErrorCode code = ErrorCode::device;
  std::string reason;
  bool has_timed_out = false;
};

/// Runs `program COMMAND REQUEST RESULT`. The request gets what the child needs to find the same
/// devices. `name` is the library's, for the reason. Blocks. Throws Error(cancelled) only.
ChildEnd run_measuring_child(const LibraryChild& child, const std::string& command,
                             const std::string& name, report::Object request,
                             const CancelToken* cancel);

using MakePlatforms = std::function<std::unique_ptr<Platforms>(Platforms::Options)>;

/// The child's side.
class ChildRequest {
 public:
  /// Reads the request and opens the platforms that it names. Throws Error(input_failed).
  ChildRequest(const std::string& request_path, const std::string& result_path,
               const MakePlatforms& make_platforms);

  const report::Value& request() const noexcept { return request_; }
  Platforms& platforms() const noexcept { return *platforms_; }
  /// Writes a line at once: a step, or the result.
  void write(const report::Object& record);

 private:
  report::Value request_;
  std::ofstream out_;
  std::unique_ptr<Platforms> platforms_;
};

}  // namespace hiptool::measure
