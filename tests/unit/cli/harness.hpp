// SPDX-License-Identifier: MIT
/// Runs the whole program in the test process, with captured streams, a given environment and fake
/// GPUs.
#pragma once
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app.hpp"
#include "cli/output/console.hpp"
#include "hip/binding.hpp"
#include "support.hpp"

namespace hiptool::cli::testing {

class CaptureStream final : public TextStream {
 public:
  int write(std::string_view part) noexcept override {
    if (error != 0) return error;
    text += part;
    ++writes;
    if (on_write) on_write(part);
    return 0;
  }
  bool is_terminal() const noexcept override { return terminal; }
  std::optional<std::size_t> columns() const noexcept override { return width; }

  std::string text;
  std::function<void(std::string_view part)> on_write;
  int writes = 0;
  int error = 0;  ///< errno of every write
  bool terminal = false;
  std::optional<std::size_t> width;
};

using Variables = std::map<std::string, std::string>;

inline GetEnvironment reader_of(Variables variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  };
}

/// Binds the cpu platform also as NVIDIA GPUs; AMD is never usable.
class FakeBinder final : public hip::Binder {
 public:
  explicit FakeBinder(int gpus) : gpus_(gpus) {}

  hip::Binding bind(Platform platform, const hip::BindRequest&) override {
    if (platform == Platform::cpu) return bind_host(Platform::cpu, 2);
    if (platform == Platform::nvidia && gpus_ > 0) return bind_host(platform, gpus_);
    hip::Binding binding;
    binding.status.platform = platform;
    binding.status.reason = "no runtime library was found";
    binding.status.hint = "install it";
    binding.status.tried = {"librun.so.7: not found"};
    return binding;
  }

 private:
  static hip::Binding bind_host(Platform platform, int devices) {
    hip::BindRequest request;
    request.cpu_devices = devices;
    hip::Binding binding = hip::bind_cpu(request);
    binding.status.platform = platform;
    return binding;
  }

  int gpus_;
};

using hiptool::test::TemporaryFolder;

struct Machine {
  /// Without COLUMNS its pipes would get lines of any length.
  Variables variables = {{"COLUMNS", "80"}, {"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}};
  int gpus = 0;
  int signal = 0;
  CancelToken cancel;
  CaptureStream out;
  CaptureStream err;
  int platforms_made = 0;
  std::filesystem::path system_root = "/";
  Variables changed_variables;          ///< by the program, in its own process
  std::shared_ptr<hip::Binder> binder;  ///< instead of a FakeBinder of `gpus`

  /// Runs `hiptool WORDS...`; out and err hold what it wrote.
  int run(const std::vector<std::string>& words);
};

/// What `hiptool WORDS...` prints on a terminal of that many columns, or without them in a pipe; of
/// standard error if it ends with `exit_code` 2.
std::string screen_of(std::vector<std::string> words, std::optional<std::size_t> columns,
                      int exit_code = 0);

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// Columns of the longest line; UTF-8 continuation bytes take none.
std::size_t widest_line(std::string_view text);

/// The first bytes of a file, fewer if it is shorter.
std::string start_of(const std::string& path, std::size_t bytes = 100'000);

}  // namespace hiptool::cli::testing
