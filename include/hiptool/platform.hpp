// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/export.hpp"

namespace hiptool {

namespace core {
struct Access;
}

class Device;

/// Receives the library's diagnostics, which it never prints: failed release calls, attributes that
/// could not be read, libraries that were tried. Called from any thread, also from destructors, so
/// implementations lock and must not throw.
class HIPTOOL_API TraceSink {
 public:
  virtual ~TraceSink() = default;

  /// One diagnostic: its source ("hipFree", "load") and a sentence.
  virtual void note(std::string_view source, std::string_view text) noexcept = 0;

  /// A diagnostic that the user should always see.
  virtual void warn(std::string_view source, std::string_view text) noexcept { note(source, text); }
};

/// The platforms, in HIP's own words. `amd` is the ROCm runtime, `nvidia` the CUDA driver, `cpu` an
/// implementation in this process.
enum class Platform { amd, nvidia, cpu };

/// "amd", "nvidia" or "cpu".
[[nodiscard]] HIPTOOL_API std::string_view to_string(Platform platform) noexcept;

/// The result of probing a platform.
struct PlatformStatus {
  Platform platform = Platform::cpu;
  bool usable = false;  ///< library bound and at least one device
  int device_count = 0;
  std::string library;             ///< path of the bound library, also without a device; else empty
  std::string runtime_version;     ///< "5.2.21153", "13.0"; empty when unknown
  std::string driver_version;      ///< kernel driver, "580.159.04"; empty when unknown
  std::string reason;              ///< why it is not usable; empty when it is
  std::string hint;                ///< the next thing to try; may be empty
  std::string note;                ///< a warning about a bound library; usually empty
  std::vector<std::string> tried;  ///< each library that was tried and why it was refused
  std::string release;             ///< "ROCm 10.0.0" that brought the library; empty if unknown
};

/// The platforms of this process, each opened at its first use. Opening a platform may
/// take some 100 ms (a driver starts) and blocks; a second call is free. Safe to use from several
/// threads: each platform is opened once, while the others wait. One that was not usable stays so
/// for this object; a new one looks again. Vendor libraries stay loaded to the end of the process
/// (their threads may still run in them), so Devices outlive this object.
class HIPTOOL_API Platforms {
 public:
  struct Options {
    std::shared_ptr<TraceSink> trace;  ///< where failed releases go; may be null
    std::string hip_library;           ///< instead of the search; default $HIPTOOL_HIP_LIBRARY
    std::string cuda_library;          ///< instead of the search; default $HIPTOOL_CUDA_LIBRARY
    std::string system_root = "/";     ///< where /sys, /proc and /dev are read
    int cpu_devices = 1;               ///< how many cpu devices; default $HIPTOOL_CPU_DEVICES or 1
    /// Ordinals of the NVIDIA devices, in the driver's order, where the program has hidden some by
    /// CUDA_VISIBLE_DEVICES: ids then stay what they are without it. Empty, or fewer than the
    /// driver reports: its own numbers.
    std::vector<int> nvidia_ordinals = {};
    /// Options from the environment variables named above.
    [[nodiscard]] static Options from_environment();
  };

  Platforms();
  explicit Platforms(Options options);
  ~Platforms();
  /// Functions of a moved-from Platforms throw Error(invalid_argument).
  Platforms(Platforms&&) noexcept;
  Platforms& operator=(Platforms&&) noexcept;

  /// Opens the platform if that has not happened and returns the result. Never throws for a
  /// platform that is not usable. Throws Error(invalid_argument) for an invalid Platform.
  [[nodiscard]] const PlatformStatus& status(Platform platform);

  /// Devices of one platform, in the runtime's order; empty when it is not usable.
  [[nodiscard]] std::vector<Device> devices(Platform platform);

  /// Where /sys, /proc and /dev are read.
  [[nodiscard]] const std::string& system_root() const;

 private:
  friend struct core::Access;
  struct Impl;
  explicit Platforms(std::unique_ptr<Impl> impl);
  [[nodiscard]] Impl& impl() const;  // throws where it was moved from

  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool
