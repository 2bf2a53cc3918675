// SPDX-License-Identifier: MIT
/// What an AMD runtime says on this machine, all of it through our own binding; one "key value" in
/// a line, for amd_runtimes.py and amd_no_device.py.
///
/// Usage: amd_runtime_report [mapped | SYSTEM_ROOT]
///   mapped: the runtime is in this process already and was started, as in a program that uses it
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include "base/dynamic_library.hpp"
#include "hip/amd/library_search.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hip/error_names.hpp"
#include "hip/properties.hpp"
#include "hip/rtc.hpp"

using namespace hiptool;

namespace {

void say(const char* key, const std::string& value) { std::printf("%s %s\n", key, value.c_str()); }

void say(const char* key, long long value) { say(key, std::to_string(value)); }

void say_status(const PlatformStatus& status) {
  say("library", status.library);
  say("runtime_version", status.runtime_version);
  say("usable", status.usable);
  say("device_count", status.device_count);
  say("reason", status.reason);
  say("hint", status.hint);
  for (const std::string& line : status.tried) say("tried", line);
}

void say_symbols(const std::string& path) {
  const auto library = base::DynamicLibrary::find_loaded(path);
  for (const char* name :
       {"hipGetDeviceProperties", "hipGetDevicePropertiesR0600", "hipGetDevicePropertiesR0000",
        "hipLaunchHostFunc", "hiprtcCompileProgram"}) {
    say(name, library && library->symbol(name) != nullptr);
  }
}

/// Optional calls that the runtime lacks answer hipErrorNotSupported.
void say_layout(const hip::Api& api) {
  alignas(8) std::array<char, hip::property_buffer_bytes> buffer{};
  const bool is_new =
      api.hipGetDevicePropertiesR0600(buffer.data(), 0) != hip::hipErrorNotSupported;
  const bool is_old =
      api.hipGetDevicePropertiesR0000(buffer.data(), 0) != hip::hipErrorNotSupported;
  const bool is_touched = std::any_of(buffer.begin(), buffer.end(), [](char c) { return c != 0; });
  say("bound_R0600", is_new);
  say("bound_R0000", is_old);
  say("buffer_touched", is_touched);
}

/// Numbers that we give another name than this runtime; a runtime may not know the newest.
void say_error_names(const hip::Api& api) {
  std::string different;
  int same = 0;
  for (int number = 0; number < 1100; ++number) {
    const auto error = static_cast<hip::hipError_t>(number);
    const char* theirs = api.hipGetErrorName(error);
    const std::string ours = hip::error_name(error);
    if (theirs != nullptr && ours == theirs) {
      ++same;
    } else if (ours != "hipErrorUnknown") {
      different +=
          " " + std::to_string(number) + ":" + ours + "/" + (theirs != nullptr ? theirs : "(null)");
    }
  }
  say("error_names_same", same);
  say("error_names_different", different);
}

void say_answers(const hip::Api& api) {
  int version = 0;
  say("version_call", api.hipRuntimeGetVersion(&version));
  say("version", version);
  int count = -1;
  say("init", api.hipInit(0));
  say("count_call", api.hipGetDeviceCount(&count));
  say("count", count);
  void* pointer = nullptr;
  say("malloc", api.hipMalloc(&pointer, 16));
  say("names", hip::read_device_names(api, 0).has_value());
}

void say_rtc() {
  const hip::RtcLibrary& rtc = hip::find_rtc(Platform::amd);
  say("rtc_path", rtc.path);
  say("rtc_reason", rtc.reason);
}

/// The runtime of this machine, whatever the root is that its hardware is read below.
std::optional<base::DynamicLibrary> open_runtime() {
  for (const std::string& name : hip::amd::list_candidates(hip::own_places())) {
    std::string error;
    if (auto library = base::DynamicLibrary::open(name, error)) return library;
  }
  return std::nullopt;
}

/// What the very first hipInit of the process says; a runtime may answer later ones otherwise.
void say_first_init() {
  const auto library = open_runtime();
  if (!library) return;
  const auto init = library->function<decltype(hip::Api::hipInit)>("hipInit");
  if (init != nullptr) say("first_init", init(0));
  say("mapped", library->path());
}

std::ptrdiff_t count_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

int main(int argc, char** argv) {
  hip::BindRequest request;
  const std::string word = argc > 1 ? argv[1] : "/";
  if (word == "mapped") {
    say_first_init();
  } else if (word != "/") {
    request.system_root = word;
    if (const auto library = open_runtime()) request.library = library->path();
  }
  const hip::Binding binding = hip::bind_amd(request);
  say_status(binding.status);
  if (binding.api != nullptr) {
    say_symbols(binding.status.library);
    say_answers(*binding.api);
    say_layout(*binding.api);
    say_error_names(*binding.api);
    say_rtc();
  }
  say("threads", count_threads());
  return 0;
}
