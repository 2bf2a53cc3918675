// SPDX-License-Identifier: MIT
#include "user_kernel/fatbin.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "user_kernel/image_bytes.hpp"

namespace hiptool::user_kernel {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t file_header_bytes = 16;
constexpr std::uint64_t compressed_flags = 0x1000 | 0x2000 | 0x8000;
constexpr std::uint64_t arch_only_flag = 0x100000;
constexpr std::uint64_t family_flag = 0x200000;

FatbinEntry read_entry(Bytes header, Bytes content) {
  FatbinEntry entry;
  switch (record_at<std::uint16_t>(header, 0)) {
    case 1: entry.kind = FatbinKind::ptx; break;
    case 2: entry.kind = FatbinKind::cubin; break;
    default: break;
  }
  const auto flags = record_at<std::uint64_t>(header, 40);
  entry.arch = record_at<std::uint32_t>(header, 28);
  entry.feature = (flags & arch_only_flag) != 0 ? 'a' : (flags & family_flag) != 0 ? 'f' : ' ';
  entry.is_compressed = (flags & compressed_flags) != 0;
  entry.bytes = content;
  return entry;
}

/// Whether the device runs it at all.
bool suits(const FatbinEntry& entry, unsigned arch) {
  if (entry.kind == FatbinKind::other || entry.arch > arch) return false;
  if (entry.feature == 'a') return entry.arch == arch;
  const bool is_bound_to_major = entry.kind == FatbinKind::cubin || entry.feature == 'f';
  return !is_bound_to_major || entry.arch / 10 == arch / 10;
}

/// Cubins before PTX; then the newest arch, then entries for that arch or family alone.
bool is_better(const FatbinEntry& one, const FatbinEntry& other) {
  if (one.kind != other.kind) return one.kind == FatbinKind::cubin;
  if (one.arch != other.arch) return one.arch > other.arch;
  return one.feature != ' ' && other.feature == ' ';
}

bool is_alike(const FatbinEntry& one, const FatbinEntry& other) {
  return one.kind == other.kind && one.arch == other.arch && one.feature == other.feature;
}

}  // namespace

std::vector<FatbinEntry> read_fatbin(Bytes image) {
  const auto start = record_at<std::uint16_t>(image, 6);
  const auto size = record_at<std::uint64_t>(image, 8);
  if (start < file_header_bytes) refuse_image("the header of the fat binary is too small");
  const Bytes all = part_of(image, start, size, "the list of entries");
  std::vector<FatbinEntry> entries;
  for (std::uint64_t place = 0; place < all.size();) {
    const auto header_bytes = record_at<std::uint32_t>(all, place + 4);
    const auto content_bytes = record_at<std::uint64_t>(all, place + 8);
    const Bytes header = part_of(all, place, header_bytes, "the header of an entry");
    place += header_bytes;
    entries.push_back(read_entry(header, part_of(all, place, content_bytes, "an entry")));
    place += content_bytes;
  }
  return entries;
}

const FatbinEntry* choose_entry(const std::vector<FatbinEntry>& entries, std::string_view arch) {
  constexpr std::string_view prefix = "sm_";
  if (!arch.starts_with(prefix)) return nullptr;
  unsigned number = 0;
  std::from_chars(arch.data() + prefix.size(), arch.data() + arch.size(), number);
  const FatbinEntry* best = nullptr;
  for (const FatbinEntry& entry : entries) {
    if (suits(entry, number) && (best == nullptr || is_better(entry, *best))) best = &entry;
  }
  return best;
}

std::optional<std::vector<KernelInfo>> kernels_of(const std::vector<FatbinEntry>& entries,
                                                  const FatbinEntry& chosen) {
  std::vector<KernelInfo> kernels;
  for (const FatbinEntry& entry : entries) {
    if (!is_alike(entry, chosen)) continue;
    if (entry.is_compressed) return std::nullopt;
    auto found = read_image_info(entry.bytes).kernels;
    if (!found) return std::nullopt;
    std::move(found->begin(), found->end(), std::back_inserter(kernels));
  }
  return kernels;
}

std::string describe(const FatbinEntry& entry) {
  if (entry.kind == FatbinKind::other) return "an entry of an unknown kind";
  std::string text = entry.kind == FatbinKind::ptx ? "PTX for compute_" : "cubin for sm_";
  text += std::to_string(entry.arch);
  if (entry.feature != ' ') text += entry.feature;
  return entry.is_compressed ? text + ", compressed" : text;
}

std::string describe(const std::vector<FatbinEntry>& entries) {
  std::string text;
  for (const FatbinEntry& entry : entries) text += (text.empty() ? "" : "; ") + describe(entry);
  return text.empty() ? "nothing" : text;
}

}  // namespace hiptool::user_kernel
