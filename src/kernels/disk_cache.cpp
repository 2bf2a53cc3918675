// SPDX-License-Identifier: MIT
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "hip/rtc.hpp"
#include "kernels/compile.hpp"

namespace hiptool::kernels {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;
using Digest = std::array<unsigned char, 16>;

// A file is this mark, the digest of the image, and the image.
constexpr std::string_view mark = "hiptool kernel 1";

Digest digest_of(const void* bytes, std::size_t size_bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size_bytes));
  Digest digest{};
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

/// Everything that the image depends on; sizes keep neighbours apart.
std::string key_of(const CompileRequest& request) {
  std::string all;
  const auto add = [&all](const std::string& text) {
    all += std::to_string(text.size()) + ":" + text;
  };
  add(request.source);
  add(request.header);
  for (const std::string& option : hip::rtc_options(request.platform, request.arch)) add(option);
  add(hip::find_rtc(request.platform).version);
  return hex(digest_of(all.data(), all.size()));
}

std::optional<Bytes> read_entry(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::size_t head_bytes = mark.size() + sizeof(Digest);
  if (text.size() <= head_bytes || !text.starts_with(mark)) return std::nullopt;
  Bytes image(text.size() - head_bytes);
  std::memcpy(image.data(), text.data() + head_bytes, image.size());
  const Digest digest = digest_of(image.data(), image.size());
  if (std::memcmp(digest.data(), text.data() + mark.size(), digest.size()) != 0) {
    return std::nullopt;
  }
  return image;
}

/// Whoever reads at the same time sees the old file or the new one, whole. Gives back what failed.
std::string write_entry(const fs::path& path, const Bytes& image) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return path.parent_path().string() + ": " + failed.message();
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return temporary + ": " + std::strerror(errno);
  close(descriptor);
  {
    const Digest digest = digest_of(image.data(), image.size());
    std::ofstream file(temporary, std::ios::binary);
    file.write(mark.data(), static_cast<std::streamsize>(mark.size()));
    file.write(reinterpret_cast<const char*>(digest.data()), digest.size());
    file.write(reinterpret_cast<const char*>(image.data()),
               static_cast<std::streamsize>(image.size()));
    file.close();
    if (file) fs::rename(temporary, path, failed);
    if (file && !failed) return {};
  }
  std::error_code ignored;
  fs::remove(temporary, ignored);
  return path.string() + ": " + (failed ? failed.message() : "could not be written");
}

}  // namespace

Compile with_disk_cache(Compile inner, fs::path folder, std::shared_ptr<TraceSink> trace) {
  if (folder.empty()) return inner;
  return [inner = std::move(inner), folder = std::move(folder),
          trace = std::move(trace)](const CompileRequest& request) {
    const fs::path path = folder / (key_of(request) + ".kernel");
    if (auto image = read_entry(path)) return *std::move(image);
    Bytes image = inner(request);
    const std::string failure = write_entry(path, image);
    if (!failure.empty() && trace) trace->note("kernel cache", failure);
    return image;
  };
}

fs::path cache_folder_from_environment() {
  // A relative path is to be ignored (XDG base directory specification).
  const auto absolute = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? fs::path(value) : fs::path();
  };
  if (const fs::path cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache / "hiptool";
  if (const fs::path home = absolute("HOME"); !home.empty()) return home / ".cache" / "hiptool";
  return {};
}

}  // namespace hiptool::kernels
