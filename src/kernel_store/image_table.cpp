// SPDX-License-Identifier: MIT
#include "kernel_store/image_table.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/contains.hpp"
#include "core/image_check.hpp"
#include "hiptool/error.hpp"

namespace hiptool::kernel_store {
namespace {

constexpr std::string_view magic = "HIPTOOLK";
constexpr std::uint32_t version = 4;
constexpr std::size_t head_bytes = 16;
constexpr std::size_t name_bytes = 24;
constexpr std::size_t entry_bytes = 80;
constexpr std::uint64_t kind_cubin = 1;
constexpr std::uint64_t kind_changed = 2;  // the entry it differs from stands above these bits
constexpr unsigned kind_bits = 8;

[[noreturn]] void refuse_table(const char* why) {
  throw Error(ErrorCode::internal, "read", std::string("the table of kernel images: ") + why);
}

std::span<const std::byte> piece(std::span<const std::byte> file, std::uint64_t offset,
                                 std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) refuse_table("cut off");
  return file.subspan(offset, size);
}

template <class Number>
Number number_in_table(std::span<const std::byte> file, std::size_t offset) {
  Number number = 0;
  std::memcpy(&number, piece(file, offset, sizeof number).data(), sizeof number);
  return number;
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view name_at(std::span<const std::byte> file, std::size_t offset) {
  const std::string_view field = text(piece(file, offset, name_bytes));
  return field.substr(0, field.find('\0'));
}

// 90 of "sm_90" and "sm_90a"; 0 for other targets.
unsigned compute_capability(std::string_view target) {
  constexpr std::string_view prefix = "sm_";
  unsigned number = 0;
  if (target.substr(0, prefix.size()) == prefix) {
    target.remove_prefix(prefix.size());
    std::from_chars(target.data(), target.data() + target.size(), number);
  }
  return number;
}

/// CUDA C++ Programming Guide, "Binary Compatibility": on the same major version from the cubin's
/// minor version on, but not between Tegra and other devices.
bool runs_cubin(unsigned device, unsigned target) {
  constexpr std::array tegra{87u, 101u};  // those whose major version others have too
  const bool is_tegra = base::contains(tegra, device);
  return !is_tegra && device / 10 == target / 10 && target <= device;
}

/// CUDA C++ Programming Guide, "Architecture-Specific Features": code for "sm_90a" runs on compute
/// capability 9.0 and on no other, later ones included.
bool is_for_one(std::string_view target) { return target.ends_with('a'); }

bool is_nvidia_object(const Image& image) {
  if (!image.packed.empty()) return image.is_cubin;
  return core::identify_image(image.bytes) == core::ImageKind::nvidia_object;
}

std::vector<Image> choose_nvidia_images(std::span<const Image> images, std::string_view source,
                                        std::string_view arch) {
  const unsigned device = compute_capability(arch);
  const Image* own_cubin = nullptr;  // of the device's very architecture
  const Image* own_ptx = nullptr;
  const Image* cubin = nullptr;
  const Image* ptx = nullptr;
  for (const Image& image : images) {
    const unsigned target = compute_capability(image.target);
    if (image.source != source || target == 0) continue;
    const bool is_object = is_nvidia_object(image);
    if (is_for_one(image.target)) {
      if (target == device) (is_object ? own_cubin : own_ptx) = &image;
      continue;
    }
    const Image*& best = is_object ? cubin : ptx;
    const bool runs = is_object ? runs_cubin(device, target) : target <= device;
    if (runs && (best == nullptr || target > compute_capability(best->target))) best = &image;
  }
  std::vector<Image> chosen;
  for (const Image* image : {own_cubin, own_ptx, cubin, ptx}) {
    if (image != nullptr) chosen.push_back(*image);
  }
  return chosen;
}

}  // namespace

std::vector<Image> read_image_table(std::span<const std::byte> file) {
  if (text(piece(file, 0, magic.size())) != magic ||
      number_in_table<std::uint32_t>(file, 8) != version) {
    refuse_table("of another kind");
  }
  std::vector<Image> images(number_in_table<std::uint32_t>(file, 12));
  std::size_t entry = head_bytes;
  for (Image& image : images) {
    image.source = name_at(file, entry);
    image.target = name_at(file, entry + name_bytes);
    const auto number = [&](std::size_t place) {
      return number_in_table<std::uint64_t>(file, entry + 2 * name_bytes + 8 * place);
    };
    const auto stored = piece(file, number(0), number(1));
    image.unpacked_bytes = number(2);
    const std::uint64_t kind = number(3) % (1U << kind_bits);
    image.is_cubin = kind == kind_cubin;
    if (kind == kind_changed) {
      const auto done = static_cast<std::uint64_t>(&image - images.data());
      const std::uint64_t other = number(3) >> kind_bits;
      if (other >= done || images[other].packed.empty()) refuse_table("an image of nothing");
      image.packed = images[other].packed;
      image.changes = stored;
    } else {
      (image.unpacked_bytes == stored.size() ? image.bytes : image.packed) = stored;
    }
    entry += entry_bytes;
  }
  return images;
}

std::vector<Image> choose_images_of(std::span<const Image> images, std::string_view source,
                                    Platform platform, std::string_view arch) {
  if (platform == Platform::nvidia) return choose_nvidia_images(images, source, arch);
  if (platform == Platform::cpu) {
    arch = "cpu";
  } else {
    // What follows a colon says which modes are on; our code objects run in all of them.
    arch = arch.substr(0, arch.find(':'));
    if (arch.substr(0, 3) != "gfx") return {};
  }
  for (const Image& image : images) {
    if (image.source == source && image.target == arch) return {image};
  }
  return {};
}

}  // namespace hiptool::kernel_store
