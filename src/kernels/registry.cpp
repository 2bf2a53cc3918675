// SPDX-License-Identifier: MIT
#include "kernels/registry.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "kernels/references.hpp"
#include "kernels/value_check.hpp"

namespace hiptool::kernels {
namespace {

using enum ArgumentType;

constexpr std::array fill_arguments{Argument{"out", output, 4}, Argument{"count", u64, 0},
                                    Argument{"value", u32, 0}};
constexpr std::array copy_16_arguments{Argument{"from", input, 16}, Argument{"to", output, 16},
                                       Argument{"count", u64, 0}};
constexpr std::array copy_1_arguments{Argument{"from", input, 1}, Argument{"to", output, 1},
                                      Argument{"count", u64, 0}};
constexpr std::array pattern_write_arguments{Argument{"out", output, 4}, Argument{"count", u64, 0},
                                             Argument{"seed", u32, 0}};
constexpr std::array pattern_check_arguments{Argument{"in", input, 4}, Argument{"count", u64, 0},
                                             Argument{"seed", u32, 0},
                                             Argument{"result", output, 8}};
constexpr std::array gate_arguments{Argument{"flag", input, 4}, Argument{"max_spins", u64, 0}};
constexpr std::array digest_arguments{
    Argument{"arena", input, 1},    Argument{"ranges", input, 24}, Argument{"range_count", u64, 0},
    Argument{"first_leaf", u64, 0}, Argument{"end_leaf", u64, 0},  Argument{"alignment", u32, 0},
    Argument{"digests", output, 8}};
constexpr std::array value_check_arguments{
    Argument{"arena", input, 1},        Argument{"tiles", input, 32},
    Argument{"descriptors", input, 48}, Argument{"first_tile", u64, 0},
    Argument{"end_tile", u64, 0},       Argument{"results", output, 8}};

template <std::uint64_t Factor>
std::uint64_t times(std::uint64_t count) {
  return count * Factor;
}

// Every byte is read; 8 bytes are written for each leaf.
std::uint64_t digest_bytes(std::uint64_t count) {
  constexpr std::uint64_t leaf_bytes = 16384;
  return count + (count + leaf_bytes - 1) / leaf_bytes * 8;
}

constexpr std::array all{
    KernelEntry{"hiptool_fill_u32", "fill", "out[i] = value", fill_arguments, times<4>, times<0>, 0,
                references::fill_u32},
    KernelEntry{"hiptool_copy_16", "copy", "to[i] = from[i], 16 bytes each", copy_16_arguments,
                times<32>, times<0>, 0, references::copy_16},
    KernelEntry{"hiptool_copy_1", "copy", "to[i] = from[i], single bytes", copy_1_arguments,
                times<2>, times<0>, 0, references::copy_1},
    KernelEntry{"hiptool_pattern_write", "pattern", "out[i] = a word that only place i has",
                pattern_write_arguments, times<4>, times<13>, 0, references::pattern_write},
    KernelEntry{"hiptool_pattern_check", "pattern", "counts and finds words at wrong places",
                pattern_check_arguments, times<4>, times<14>, 0, references::pattern_check},
    // No reference: on the host too, what it does is to wait for somebody else's write.
    KernelEntry{"hiptool_gate", "gate", "waits until a flag is not 0", gate_arguments, times<0>,
                times<0>, 0, nullptr},
    KernelEntry{"hiptool_tensor_digests", "digest", "XXH3-64 of each 16 KiB of many tensors",
                digest_arguments, digest_bytes, times<0>, 0, references::tensor_digests},
    // For so many bytes of plain values; of quantised ones only the scales are read.
    KernelEntry{"hiptool_value_check", "value_check", "counts NaN and infinity in many tensors",
                value_check_arguments, times<1>, times<0>, 0, references::value_check},
};

}  // namespace

std::span<const KernelEntry> entries() { return all; }

const KernelEntry* find_entry(std::string_view name) noexcept {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const KernelEntry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void register_references() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const KernelEntry& entry : all) {
      if (entry.reference != nullptr) hip::cpu::register_native(entry.name, entry.reference);
    }
  });
}

}  // namespace hiptool::kernels
