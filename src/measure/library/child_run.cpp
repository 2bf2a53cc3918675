// SPDX-License-Identifier: MIT
#include "measure/library/child_run.hpp"

#include <sstream>
#include <utility>

#include "base/input_file.hpp"
#include "base/units.hpp"
#include "system/child_process.hpp"

namespace hiptool::measure {
namespace {

constexpr std::uint64_t most_request_bytes = 16u << 20;

/// The last complete lines of that kind in what the child wrote.
struct ChildWords {
  std::string step;
  report::Value result;

  explicit ChildWords(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      try {
        const report::Value record = report::parse_json(line, "measurement");
        const std::string name = report::text_of(report::member(record, "step"));
        if (!name.empty()) step = name;
        if (!report::member(record, "status").is_absent()) result = record;
      } catch (const Error&) {
        // The child ended while it wrote this line.
      }
    }
  }
};

std::string last_line(std::string text) {
  constexpr std::size_t most = 200;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t end = text.rfind('\n');
  if (end != std::string::npos) text.erase(0, end + 1);
  return text.substr(0, most);
}

}  // namespace

ChildEnd run_measuring_child(const LibraryChild& child, const std::string& command,
                             const std::string& name, report::Object request,
                             const CancelToken* cancel) {
  const system::WorkFolder folder;
  const std::string request_path = folder.file("request");
  const std::string result_path = folder.file("result");
  report::Array ordinals;
  for (const int ordinal : child.nvidia_ordinals) ordinals.emplace_back(ordinal);
  request.emplace_back("nvidia_ordinals", std::move(ordinals));
  request.emplace_back("system_root", child.system_root);
  std::ofstream(request_path) << report::json_text(request);
  system::ChildLimits limits;
  limits.time = std::chrono::milliseconds(static_cast<std::int64_t>(child.timeout_s * 1000));
  limits.memory_bytes = 0;
  limits.has_cpu_limit = false;
  ChildEnd end;
  system::ChildRun run;
  try {
    run = system::run_child({child.program, command, request_path, result_path}, folder, limits,
                            cancel);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    end.code = error.code();
    end.reason = error.what();
    return end;
  }
  ChildWords words(system::read_text(result_path));
  const std::string step = words.step.empty() ? "starting" : words.step;
  if (!run.status) {
    end.code = ErrorCode::timed_out;
    end.has_timed_out = true;
    end.reason = name + " did not return within " + format_duration(child.timeout_s) +
                 " and was killed during: " + step;
  } else if (!words.result.is_absent()) {
    end.record = std::move(words.result);  // what happens at the exit of a library changes nothing
  } else {
    end.reason =
        "the process of " + name + " " + system::describe_end(*run.status) + " during: " + step;
    if (const std::string line = last_line(run.output); !line.empty())
      end.reason += "; it wrote: " + line;
  }
  return end;
}

ChildRequest::ChildRequest(const std::string& request_path, const std::string& result_path,
                           const MakePlatforms& make_platforms)
    : request_(report::parse_json(base::read_input_file(request_path, most_request_bytes),
                                  request_path)),
      out_(result_path, std::ios::binary) {
  Platforms::Options options = Platforms::Options::from_environment();
  options.system_root = report::text_of(report::member(request_, "system_root"));
  for (const report::Value& one : report::elements(report::member(request_, "nvidia_ordinals")))
    options.nvidia_ordinals.push_back(static_cast<int>(report::number_of(one).value_or(0)));
  platforms_ = make_platforms(std::move(options));
}

void ChildRequest::write(const report::Object& record) {
  out_ << report::json_text(record) << '\n';
  out_.flush();
}

}  // namespace hiptool::measure
