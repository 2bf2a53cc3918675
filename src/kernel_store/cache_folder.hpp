// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace hiptool::kernel_store {

/// A folder of files that this program will run, so nobody else may have written them: the folder
/// and each file belong to the effective user, and neither group nor others can write to them.
class CacheFolder {
 public:
  /// Creates it, for this user only, if it does not exist. On failure is_usable() is false and
  /// reason() names the folder and says why.
  explicit CacheFolder(const std::filesystem::path& path);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  /// Of an entry: images of all kernels together have a quarter of it.
  static constexpr std::uint64_t most_entry_bytes = std::uint64_t{64} << 20;

  bool is_usable() const noexcept { return descriptor_ >= 0; }
  const std::string& reason() const noexcept { return reason_; }
  /// Whether the reason is that another user could have written it.
  bool is_distrusted() const noexcept { return is_distrusted_; }

  /// The file's bytes; nothing where it does not exist, or with reason() where it cannot be
  /// trusted.
  std::optional<std::string> read(const std::string& name);

  /// Another process that reads at the same time sees the old file or the new one, whole. False
  /// with reason() when it fails.
  bool write(const std::string& name, std::string_view bytes);

 private:
  bool refuse(const std::filesystem::path& path, const std::string& why);
  void distrust(const std::filesystem::path& path, const std::string& why);

  std::filesystem::path path_;
  std::string reason_;
  bool is_distrusted_ = false;
  int descriptor_ = -1;
};

}  // namespace hiptool::kernel_store
