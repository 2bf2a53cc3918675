// SPDX-License-Identifier: MIT
// STREAM and plain writes.
#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

// Measured by tests/bench/kernel_table --blocks, on an H200: see kernels/stream.hip.
constexpr std::uint64_t memory_blocks_per_unit = WorkContext::as_needed;
constexpr std::uint64_t memory_units_per_thread = 1;

enum class Operation { copy, scale, add, triad, nstream };

template <class Real>
constexpr ValueKind kind_of = sizeof(Real) == 8 ? ValueKind::f64 : ValueKind::f32;

template <class Real>
class StreamWork final : public KernelWork {
 public:
  StreamWork(const Device& device, const WorkContext& context, Operation operation,
             const std::string& kernel)
      : operation_(operation),
        stream_(context.stream),
        kernel_(context.find_kernel(kernel)),
        units_(std::max<std::uint64_t>(1, context.size_bytes / 16)),
        config_(stride_grid(context, units_, memory_blocks_per_unit, memory_units_per_thread)),
        a_(device, units_ * 16),
        b_(has_second() ? Buffer(device, units_ * 16) : a_),
        out_(device, units_ * 16) {}

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = units_ * 16;
    figures.elements = figures.size_bytes / sizeof(Real);
    const double arrays[] = {2, 2, 3, 3, 4};
    const double operations[] = {0, 1, 1, 2, 3};
    const auto place = static_cast<std::size_t>(operation_);
    figures.bytes = arrays[place] * static_cast<double>(figures.size_bytes);
    figures.flops = operations[place] * static_cast<double>(figures.elements);
    return figures;
  }

  void reset() override {
    write_values(a_, kind_of<Real>, periodic(first_));
    if (has_second()) write_values(b_, kind_of<Real>, periodic(second_));
    if (operation_ == Operation::nstream) {
      write_values(out_, kind_of<Real>, periodic(third_));
    } else {
      fill_and_wait(out_, std::byte{0xFF}, *stream_);
    }
    runs_ = 0;
  }

  void queue() override {
    launch(kernel_, config_, *stream_, a_, b_, out_, units_);
    ++runs_;
  }

  Comparison check() override {
    std::vector<Real> expected(table_length);
    for (std::size_t i = 0; i < table_length; ++i) expected[i] = expected_at(i);
    return compare_values(out_, units_ * 16 / sizeof(Real), kind_of<Real>, 0,
                          periodic(std::move(expected)));
  }

  std::optional<Buffer> output() const override {
    if (operation_ == Operation::nstream) return std::nullopt;  // adds to what was there
    return out_;
  }

 private:
  bool has_second() const { return operation_ >= Operation::add; }

  /// Exact, because the numbers are small and whole.
  Real expected_at(std::size_t i) const {
    switch (operation_) {
      case Operation::copy: return first_[i];
      case Operation::scale: return 3 * first_[i];
      case Operation::add: return first_[i] + second_[i];
      case Operation::triad: return first_[i] + 3 * second_[i];
      case Operation::nstream: break;
    }
    return third_[i] + static_cast<Real>(runs_) * (first_[i] + 3 * second_[i]);
  }

  Operation operation_;
  const StreamRef* stream_;
  Kernel kernel_;
  std::uint64_t units_;
  LaunchConfig config_;
  Buffer a_;
  Buffer b_;
  Buffer out_;
  std::vector<Real> first_ = small_numbers<Real>(table_length, 1);
  std::vector<Real> second_ = small_numbers<Real>(table_length, 2);
  std::vector<Real> third_ = small_numbers<Real>(table_length, 3);
  std::uint64_t runs_ = 0;
};

/// Words computed from their index, or one word everywhere.
class WriteWork final : public KernelWork {
 public:
  WriteWork(const Device& device, const WorkContext& context, bool is_memset)
      : is_memset_(is_memset),
        stream_(context.stream),
        kernel_(context.find_kernel(is_memset ? "hiptool_stream_memset" : "hiptool_stream_write")),
        units_(std::max<std::uint64_t>(1, context.size_bytes / 16)),
        config_(stride_grid(context, units_, memory_blocks_per_unit, memory_units_per_thread)),
        out_(device, units_ * 16) {}

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = units_ * 16;
    figures.elements = units_ * 4;
    figures.bytes = static_cast<double>(figures.size_bytes);
    return figures;
  }

  void reset() override { fill_and_wait(out_, std::byte{0xFF}, *stream_); }

  /// Another word in each run, so that data of an earlier run is wrong.
  void queue() override {
    ++word_;
    launch(kernel_, config_, *stream_, out_, units_, word_);
  }

  Comparison check() override {
    const auto expected = [this](std::uint64_t index) {
      return is_memset_ ? word_ : (word_ + static_cast<std::uint32_t>(index)) * 0x9E3779B1u;
    };
    return compare_values(out_, units_ * 4, ValueKind::u32, 0, computed(expected));
  }

 private:
  bool is_memset_;
  const StreamRef* stream_;
  Kernel kernel_;
  std::uint64_t units_;
  LaunchConfig config_;
  Buffer out_;
  std::uint32_t word_ = 0x5A5A0000u;
};

}  // namespace

void add_memory_families(std::vector<FamilyEntry>& families) {
  struct Row {
    const char* name;
    const char* what;
    Operation operation;
    std::uint64_t arrays;
  };
  constexpr Row rows[] = {{"copy", "c = a", Operation::copy, 2},
                          {"scale", "c = 3 a", Operation::scale, 2},
                          {"add", "c = a + b", Operation::add, 3},
                          {"triad", "c = a + 3 b", Operation::triad, 3},
                          {"nstream", "c = c + a + 3 b", Operation::nstream, 3}};
  for (const Row& row : rows) {
    const std::string name = row.name;
    const Operation operation = row.operation;
    families.push_back(
        {{"stream-" + name, "stream", row.what, {"f32", "f64"}},
         row.arrays,
         [name, operation](const Device& device,
                           const WorkContext& context) -> std::unique_ptr<KernelWork> {
           const std::string kernel = "hiptool_stream_" + name;
           const std::string typed = name == "copy" ? kernel : kernel + "_" + context.dtype;
           if (context.dtype == "f64") {
             return std::make_unique<StreamWork<double>>(device, context, operation, typed);
           }
           return std::make_unique<StreamWork<float>>(device, context, operation, typed);
         }});
  }
  families.push_back({{"write", "stream", "writes words that depend on their index", {"u32"}},
                      1,
                      maker<WriteWork>(false)});
  families.push_back({{"memset", "stream", "writes the same word everywhere", {"u32"}},
                      1,
                      maker<WriteWork>(true)});
}

}  // namespace hiptool::measure
