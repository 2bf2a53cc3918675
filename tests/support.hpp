// SPDX-License-Identifier: MIT
/// What several test programs share.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/platform.hpp"
#include "sanitized.hpp"

namespace hiptool::test {

/// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hiptool-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Keeps what was traced.
class RecordingTrace final : public hiptool::TraceSink {
 public:
  void note(std::string_view source, std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::string(source) + ": " + std::string(text));
  }
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

inline std::vector<std::byte> random_bytes(std::size_t size_bytes, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::byte> bytes(size_bytes);
  // Eight at a time: without optimisation a number of this generator takes long.
  for (std::size_t at = 0; at < size_bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t number = generator();
    std::memcpy(bytes.data() + at, &number, std::min(sizeof number, size_bytes - at));
  }
  return bytes;
}

/// What events measure while it runs cannot be longer than it says.
class Stopwatch {
 public:
  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// For clocks that differ: 200 times the resolution of HIP's events.
inline constexpr double event_slack_s = 0.0001;

/// The code of the Error that this throws; none where it throws nothing.
inline std::optional<hiptool::ErrorCode> code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const hiptool::Error& error) {
    return error.code();
  }
  return std::nullopt;
}

/// The id of the device that the suite runs on: $HIPTOOL_TEST_DEVICE, else cpu.
inline std::string device_id() {
  const char* id = std::getenv("HIPTOOL_TEST_DEVICE");
  return id != nullptr ? id : "cpu";
}

inline hiptool::Device device(hiptool::Platforms& platforms) {
  return hiptool::find_device(platforms, device_id());
}

}  // namespace hiptool::test
