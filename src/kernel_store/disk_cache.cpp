// SPDX-License-Identifier: MIT
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "hip/rtc.hpp"
#include "kernel_store/cache_folder.hpp"
#include "kernel_store/compile.hpp"

namespace hiptool::kernel_store {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<std::byte>;
using Digest = XXH128_canonical_t;

// A file is this mark, the digest of the image, and the image.
constexpr std::string_view mark = "hiptool kernel 1";

Digest digest_of(const void* bytes, std::size_t size_bytes) {
  Digest digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, size_bytes));
  return digest;
}

/// Everything that the image depends on; sizes keep neighbours apart.
std::string key_of(const CompileRequest& request) {
  std::string all;
  const auto add = [&all](const std::string& text) {
    all += std::to_string(text.size()) + ":" + text;
  };
  add(request.source);
  for (const SourceHeader& header : request.headers) {
    add(header.name);
    add(header.text);
  }
  add(std::to_string(request.headers.size()));  // where the options begin
  for (const std::string& option : hip::rtc_options(request.platform, request.arch)) add(option);
  add(hip::find_rtc(request.platform).version);
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return base::to_hex(hash.high64) + base::to_hex(hash.low64);
}

std::optional<Bytes> image_in(std::string_view text) {
  constexpr std::size_t head_bytes = mark.size() + sizeof(Digest);
  if (text.size() <= head_bytes || !text.starts_with(mark)) return std::nullopt;
  Bytes image(text.size() - head_bytes);
  std::memcpy(image.data(), text.data() + head_bytes, image.size());
  const Digest digest = digest_of(image.data(), image.size());
  if (std::memcmp(&digest, text.data() + mark.size(), sizeof digest) != 0) return std::nullopt;
  return image;
}

std::string entry_of(const Bytes& image) {
  const Digest digest = digest_of(image.data(), image.size());
  std::string text(mark);
  text.append(reinterpret_cast<const char*>(&digest), sizeof digest);
  text.append(reinterpret_cast<const char*>(image.data()), image.size());
  return text;
}

/// A warning once for each text in a process: every device and every kernel would give it again.
void report(TraceSink* trace, const CacheFolder& folder, const std::string& effect) {
  constexpr const char* source = "kernel cache";
  static std::mutex mutex;
  static auto* const warned = new std::set<std::string>;
  if (trace == nullptr) return;
  const std::string text = effect + folder.reason();
  if (!folder.is_distrusted()) {
    trace->note(source, text);
    return;
  }
  const std::lock_guard lock(mutex);
  if (warned->insert(text).second) trace->warn(source, text);
}

}  // namespace

Compile with_disk_cache(Compile inner, fs::path path, std::shared_ptr<TraceSink> trace) {
  if (path.empty()) return inner;
  return [inner = std::move(inner), path = std::move(path),
          trace = std::move(trace)](const CompileRequest& request) {
    CacheFolder folder(path);
    if (!folder.is_usable()) {
      report(trace.get(), folder, "not used, ");
      return inner(request);
    }
    const std::string name = key_of(request) + ".kernel";
    if (const auto text = folder.read(name)) {
      if (auto image = image_in(*text)) return *std::move(image);
    } else if (!folder.reason().empty()) {
      report(trace.get(), folder, "kernel compiled again, ");
    }
    Bytes image = inner(request);
    if (!folder.write(name, entry_of(image))) report(trace.get(), folder, "not written, ");
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

}  // namespace hiptool::kernel_store
