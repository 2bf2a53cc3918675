// SPDX-License-Identifier: MIT
/// What the families of the kernel bench have in common: their interface, launches and checks.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/stream.hpp"
#include "measure/kernel/bench.hpp"

namespace hiptool::measure {

/// What a family gets to make its work on a device.
struct WorkContext {
  const StreamRef* stream = nullptr;
  std::function<Kernel(std::string_view)> find_kernel;
  std::string arch;
  std::string dtype;
  std::uint64_t size_bytes = 0;  ///< of one array
  std::uint64_t compute_units = 1;
  std::optional<std::uint64_t> blocks_per_unit;  ///< instead of what the family takes

  /// As many blocks as there is work for.
  static constexpr std::uint64_t as_needed = std::uint64_t{1} << 32;

  /// For all multiprocessors, `own` or what is asked for instead for each. Of work that is as long
  /// as there are blocks, more than 64 of them are no other measurement.
  std::uint32_t all_blocks(std::uint64_t own) const {
    return static_cast<std::uint32_t>(compute_units *
                                      std::min<std::uint64_t>(blocks_per_unit.value_or(own), 64));
  }
};

/// How many rounds take about so long, so that a slow device is done as well: from the time of one
/// run of `least` rounds, which `queue` launches. Waits for the stream.
std::uint64_t rounds_within(double time_s, std::uint64_t least, std::uint64_t most,
                            const StreamRef& stream, const std::function<void()>& queue);

/// What one check saw.
struct Comparison {
  std::uint64_t checked = 0;
  double max_error = 0;
  std::optional<WrongData> wrong;
  std::string missed_fault;  ///< what the check reported of a fault that it was given and missed
};

/// One family with its type and size, with all memory it needs.
class KernelWork {
 public:
  struct Figures {
    std::uint64_t elements = 0;
    std::uint64_t size_bytes = 0;
    double bytes = 0;         ///< read and written by one run
    double flops = 0;         ///< of one run
    double tolerance = 0;     ///< as in KernelResult
    double steps = 1;         ///< a run is so many steps, and the time of one is wanted
    std::size_t repeats = 0;  ///< runs in one sample; 0: as many as make it long enough
  };

  virtual ~KernelWork() = default;
  virtual Figures figures() const = 0;
  /// Gives inputs and outputs their first values, so that a run that does nothing is seen. Blocks.
  virtual void reset() = 0;
  /// Queues one run.
  virtual void queue() = 0;
  /// Compares all that the runs since reset() left. Blocks.
  virtual Comparison check() = 0;
  /// Operations, or bytes where it counts none, that one multiprocessor can do in a clock; absent
  /// where memory is the limit or nobody says.
  virtual std::optional<double> per_clock() const { return std::nullopt; }
};

/// A family with what makes its work.
struct FamilyEntry {
  KernelFamily family;
  /// Of the given size, for a share of the memory. 0: the size has no meaning, and memory no share.
  std::uint64_t arrays = 1;
  std::function<std::unique_ptr<KernelWork>(const Device&, const WorkContext&)> make;
};

/// Makes a Work from the device, the context and these values.
template <class Work, class... Values>
auto maker(Values... values) {
  return [values...](const Device& device, const WorkContext& context) {
    return std::make_unique<Work>(device, context, values...);
  };
}

void add_memory_families(std::vector<FamilyEntry>& families);
void add_reduction_families(std::vector<FamilyEntry>& families);
void add_fma_family(std::vector<FamilyEntry>& families);
void add_gemm_family(std::vector<FamilyEntry>& families);
void add_unit_families(std::vector<FamilyEntry>& families);
void add_model_families(std::vector<FamilyEntry>& families);
void add_dequantize_family(std::vector<FamilyEntry>& families);
void add_memory_tests(std::vector<FamilyEntry>& families);

/// Grid for a kernel that strides over `units`: no more blocks than there is work for.
/// `blocks_per_unit` is the one of the family, where the context has none.
LaunchConfig stride_grid(const WorkContext& context, std::uint64_t units,
                         std::uint64_t blocks_per_unit, std::uint64_t units_per_thread);

/// The types of values that a check knows.
enum class ValueKind { u32, f32, f64 };

std::size_t value_bytes(ValueKind kind) noexcept;

/// Writes the values from the index `first` on, as many as there is room for.
using Fill = std::function<void(std::uint64_t first, std::span<std::byte> to)>;

/// Puts values into all of the buffer, piece by piece. Blocks.
void write_values(const Buffer& data, ValueKind kind, const Fill& fill);

/// Sets all bytes of the buffer. Blocks.
void fill_and_wait(const Buffer& data, std::byte value, const StreamRef& stream);

/// Copies `count` values from the device, piece by piece, and compares them with what `expected`
/// writes: bit by bit with a tolerance of 0, else |got - expected| <= tolerance *
/// max(floor, |expected|). The first wrong one is read once more. Blocks.
Comparison compare_values(const Buffer& data, std::uint64_t count, ValueKind kind, double tolerance,
                          const Fill& expected, double floor = 1);

/// The values that a function returns for each index.
template <class Function>
Fill computed(Function value_of) {
  return [value_of = std::move(value_of)](std::uint64_t first, std::span<std::byte> to) {
    for (std::size_t done = 0; done < to.size(); ++first) {
      const auto value = value_of(first);
      std::memcpy(to.data() + done, &value, sizeof(value));
      done += sizeof(value);
    }
  };
}

/// The values of a table, again and again. Its length should divide no power of two, so that data
/// at a wrong place is seen.
template <class Number>
Fill periodic(std::vector<Number> table) {
  return [table = std::move(table)](std::uint64_t first, std::span<std::byte> to) {
    std::size_t place = first % table.size();
    while (!to.empty()) {
      const std::size_t count = std::min(table.size() - place, to.size() / sizeof(Number));
      std::memcpy(to.data(), table.data() + place, count * sizeof(Number));
      to = to.subspan(count * sizeof(Number));
      place = 0;
    }
  };
}

/// Whole numbers from -8 to 8 in an order without rule: sums and products of a few are exact.
template <class Number>
std::vector<Number> small_numbers(std::size_t count, std::uint32_t seed) {
  std::vector<Number> numbers(count);
  std::uint32_t state = seed * 0x9E3779B1u + 1;
  for (Number& number : numbers) {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes, 7.1
    number = static_cast<Number>(static_cast<int>((state >> 16) % 17) - 8);
  }
  return numbers;
}

/// A prime, so that tables of this length are out of step with every grid.
inline constexpr std::size_t table_length = 65521;

}  // namespace hiptool::measure
