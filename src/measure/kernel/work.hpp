// SPDX-License-Identifier: MIT
/// The interface, launches and checks that the families of kernels share.
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

#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/error.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/stream.hpp"
#include "measure/kernel/family.hpp"

namespace hiptool::measure {

/// The parameters from which a family makes its work on a device.
struct WorkContext {
  const StreamRef* stream = nullptr;
  std::function<Kernel(std::string_view)> find_kernel;
  std::string arch;
  std::string dtype;
  std::uint64_t size_bytes = 0;  ///< of one array
  std::uint64_t compute_units = 1;
  std::optional<std::uint64_t> blocks_per_unit;  ///< instead of the family's own
  // Of operations.
  std::vector<std::uint64_t> shape;  ///< instead of the size; may be empty
  std::string layout;
  std::uint64_t seed = 1;
  std::function<Backend()> backend;  ///< on the stream

  /// No limit other than the amount of work.
  static constexpr std::uint64_t as_needed = std::uint64_t{1} << 32;

  /// Blocks for all multiprocessors, with `own` or the requested number on each. More than 64 only
  /// lengthen work that grows with the number of blocks.
  std::uint32_t all_blocks(std::uint64_t own) const {
    return static_cast<std::uint32_t>(compute_units *
                                      std::min<std::uint64_t>(blocks_per_unit.value_or(own), 64));
  }
};

/// The number of rounds that takes about `time_s`, so that slow devices finish too; from the time
/// of one run of `least` rounds, which `queue` launches. Waits for the stream.
std::uint64_t rounds_within(double time_s, std::uint64_t least, std::uint64_t most,
                            const StreamRef& stream, const std::function<void()>& queue);

/// The result of one check.
struct Comparison {
  std::uint64_t checked = 0;
  double max_error = 0;
  std::optional<WrongData> wrong;
  std::string missed_fault;  ///< describes a planted fault that the check did not find
};

/// One family with a type and a size, and all the memory it needs.
class KernelWork {
 public:
  struct Figures {
    std::uint64_t elements = 0;
    std::uint64_t size_bytes = 0;
    double bytes = 0;         ///< read and written by one run
    double flops = 0;         ///< of one run
    double tolerance = 0;     ///< as in KernelResult
    double steps = 1;         ///< of a run; the time of one is reported
    std::size_t repeats = 0;  ///< runs in one sample; 0: enough for a long sample
  };

  virtual ~KernelWork() = default;
  virtual Figures figures() const = 0;
  /// Initialises inputs and outputs, so that a run without effect is detected. Blocks.
  virtual void reset() = 0;
  /// Queues one run.
  virtual void queue() = 0;
  /// Checks the results of all runs since reset(). Blocks.
  virtual Comparison check() = 0;
  /// Operations of one multiprocessor in a clock, or bytes if none are counted; absent if memory is
  /// the limit or the figure is not published.
  virtual std::optional<double> per_clock() const { return std::nullopt; }
  /// Of an operation: the shape that runs, and the digest of its output after a check.
  virtual std::string shape() const { return {}; }
  virtual std::string digest() const { return {}; }
  /// What a run writes, where a right run writes the same bytes each time whatever was there
  /// before: then its digest, which the device computes, judges a run. Absent: only check() does.
  virtual std::optional<Buffer> output() const { return std::nullopt; }
};

/// Thrown for a size that is less than the least shape takes.
class TooSmall : public Error {
 public:
  TooSmall(const std::string& what, std::uint64_t size_bytes);
};

/// A family and the function that makes its work.
struct FamilyEntry {
  KernelFamily family;
  /// Arrays of the given size. 0: size and share of the memory have no meaning.
  std::uint64_t arrays = 1;
  std::function<std::unique_ptr<KernelWork>(const Device&, const WorkContext&)> make;
};

/// All families, in the order in which they run.
const std::vector<FamilyEntry>& all_families();

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
void add_dequantize_family(std::vector<FamilyEntry>& families);
void add_memory_tests(std::vector<FamilyEntry>& families);

/// The grid of a kernel that strides over `units`, with no more blocks than there is work for and
/// `blocks_per_unit` of the family unless the context has another number.
LaunchConfig stride_grid(const WorkContext& context, std::uint64_t units,
                         std::uint64_t blocks_per_unit, std::uint64_t units_per_thread);

/// The types of values that can be checked.
enum class ValueKind { u32, f32, f64 };

std::size_t value_bytes(ValueKind kind) noexcept;

/// Fills the span with the values from the index `first` on.
using Fill = std::function<void(std::uint64_t first, std::span<std::byte> to)>;

/// Fills the whole buffer piece by piece. Blocks.
void write_values(const Buffer& data, ValueKind kind, const Fill& fill);

/// Sets all bytes of the buffer. Blocks.
void fill_and_wait(Buffer& data, std::byte value, const StreamRef& stream);

/// Copies `count` values from the device, piece by piece, and compares them with what `expected`
/// writes: bit by bit with a tolerance of 0, else |got - expected| <= tolerance *
/// max(min_magnitude, |expected|). The first wrong one is read once more. Blocks.
Comparison compare_values(const Buffer& data, std::uint64_t count, ValueKind kind, double tolerance,
                          const Fill& expected, double min_magnitude = 1);

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

/// The values of a table, repeated. Its length should not divide a power of two, so that data at a
/// wrong address is detected.
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

/// Pseudo-random whole numbers from -8 to 8: sums and products of a few are exact.
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

/// A prime, so that tables of this length do not align with any grid.
inline constexpr std::size_t table_length = 65521;

}  // namespace hiptool::measure
