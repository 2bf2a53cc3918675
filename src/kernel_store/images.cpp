// SPDX-License-Identifier: MIT
#include "kernel_store/images.hpp"

#include <lzma.h>

#include <cstring>
#include <map>
#include <mutex>

#include "base/contains.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/image_table.hpp"

// From the assembly source that kernels/pack.py writes.
extern "C" {
extern const std::byte hiptool_kernel_images[];
extern const std::byte hiptool_kernel_images_end[];
}

namespace hiptool::kernel_store {

void keep_cpu_kernels();  // generated with the build; see kernels/meson.build

namespace {

std::vector<std::byte> decompress(const Image& image) {
  std::vector<std::byte> bytes(image.unpacked_bytes);
  std::uint64_t most_memory = std::uint64_t{64} << 20;
  std::size_t read = 0;
  std::size_t size = 0;
  const lzma_ret result = lzma_stream_buffer_decode(
      &most_memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(image.packed.data()), &read,
      image.packed.size(), reinterpret_cast<std::uint8_t*>(bytes.data()), &size, bytes.size());
  bool is_whole = result == LZMA_OK && read == image.packed.size() && size == bytes.size();
  for (std::size_t i = 0; is_whole && i < image.changes.size(); i += 8) {
    std::uint32_t change[2] = {};
    is_whole = image.changes.size() - i >= sizeof change;
    if (is_whole) std::memcpy(change, image.changes.data() + i, sizeof change);
    is_whole = is_whole && change[0] < bytes.size();
    if (is_whole) bytes[change[0]] = static_cast<std::byte>(change[1]);
  }
  if (is_whole) return bytes;
  throw Error(ErrorCode::internal, "unpack",
              "the kernel image " + std::string(image.source) + " for " +
                  std::string(image.target) + " is damaged (liblzma error " +
                  std::to_string(result) + "); install hiptool again");
}

std::vector<Image> all_images() {
  keep_cpu_kernels();
  std::vector<Image> images = read_image_table({hiptool_kernel_images, hiptool_kernel_images_end});
  // The processor has all kernels in its table; the image only names it. Its NUL is counted.
  const auto cpu_bytes =
      std::as_bytes(std::span(hip::cpu::cpu_image.data(), hip::cpu::cpu_image.size() + 1));
  std::vector<Image> for_cpu;
  for (const Image& image : images) {
    if (image.target == "source") for_cpu.push_back({image.source, "cpu", cpu_bytes});
  }
  images.insert(images.end(), for_cpu.begin(), for_cpu.end());
  return images;
}

}  // namespace

std::span<const Image> embedded_images() {
  static const std::vector<Image> images = all_images();
  return images;
}

std::vector<Image> choose_images(std::string_view source, Platform platform,
                                 std::string_view arch) {
  std::vector<Image> chosen = choose_images_of(embedded_images(), source, platform, arch);
  for (Image& image : chosen) image = unpacked(image);
  return chosen;
}

bool has_image(std::string_view source, Platform platform, std::string_view arch) {
  return !choose_images_of(embedded_images(), source, platform, arch).empty();
}

Image unpacked(const Image& image) {
  if (image.packed.empty()) return image;
  static std::mutex mutex;
  static auto* const all = new std::map<const std::byte*, std::vector<std::byte>>;  // never freed
  const std::lock_guard lock(mutex);
  const auto& stored = image.changes.empty() ? image.packed : image.changes;
  std::vector<std::byte>& bytes = (*all)[stored.data()];
  if (bytes.empty()) bytes = decompress(image);
  Image whole = image;
  whole.bytes = bytes;
  whole.packed = {};
  whole.changes = {};
  return whole;
}

std::optional<Image> choose_image(std::string_view source, Platform platform,
                                  std::string_view arch) {
  const std::vector<Image> images = choose_images(source, platform, arch);
  if (images.empty()) return std::nullopt;
  return images.front();
}

std::string_view source_of_kernel(std::string_view name) {
  const std::string line = "\nHIPTOOL_EXPORT(" + std::string(name) + ");";
  for (const Image& image : embedded_images()) {
    const bool is_source = image.target == "source";
    if (is_source && image.text().find(line) != std::string_view::npos) return image.source;
  }
  return {};
}

std::vector<std::string_view> embedded_targets() {
  std::vector<std::string_view> targets;
  for (const Image& image : embedded_images()) {
    const bool is_known = base::contains(targets, image.target);
    if (!image.is_text() && !is_known) targets.push_back(image.target);
  }
  return targets;
}

}  // namespace hiptool::kernel_store
