// SPDX-License-Identifier: MIT
// Quantised types of GGUF to f32.
#include <algorithm>
#include <iterator>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/iq_grids.hpp"
#include "kernel_store/quantised_types.hpp"
#include "measure/kernel/work.hpp"
#include "model/element_types.hpp"
#include "ops/backend_kernels.hpp"

namespace hiptool::measure {
namespace {

// As many as there is work for: by tests/bench/ops_rates on an H200 0.02 to 0.06 of the peak faster
// than 64, but Q3_K and IQ2_S, which lose 0.01 and 0.04.
constexpr std::uint64_t dequantize_blocks_per_unit = std::uint64_t{1} << 32;
constexpr std::uint64_t dequantize_units_per_thread = 2;

constexpr std::size_t table_blocks = 251;  // a prime, which does not align with any grid

const kernel_store::QuantisedType& find_type(const std::string& name) {
  const auto* const found =
      std::ranges::find(kernel_store::quantised_types, name, &kernel_store::QuantisedType::name);
  if (found == std::end(kernel_store::quantised_types)) {
    throw Error(ErrorCode::unsupported, "dequantize", "no kernel for '" + name + "'");
  }
  return *found;
}

/// Blocks of pseudo-random bytes whose scales are finite.
std::vector<std::uint8_t> make_blocks(const kernel_store::QuantisedType& type) {
  std::vector<std::uint8_t> bytes(table_blocks * type.bytes);
  std::uint32_t state = type.id;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  for (const model::ByteMask& mask : model::find_gguf_type(type.id)->scale_masks()) {
    for (std::size_t block = 0; block < table_blocks; ++block) {
      bytes[block * type.bytes + mask.offset] &= mask.keep;
    }
  }
  return bytes;
}

/// The kernel with its buffers on one device.
struct Launcher {
  Launcher(const Device& device, Kernel kernel_to_run,
           const kernel_store::QuantisedType& type_of_blocks, std::uint64_t block_count)
      : kernel(std::move(kernel_to_run)),
        type(type_of_blocks),
        count(block_count * type.values),
        blocks(device, block_count * type.bytes),
        grids(device, kernel_store::iq_grids().size_bytes()),
        out(device, count * 4) {
    copy_h2d_and_wait(grids, std::as_bytes(kernel_store::iq_grids()));
  }

  void queue(const LaunchConfig& config, const StreamRef& stream) const {
    launch(kernel, config, stream, blocks, grids, out, count, type.id);
  }

  Kernel kernel;
  const kernel_store::QuantisedType& type;
  std::uint64_t count;
  Buffer blocks;
  Buffer grids;
  Buffer out;
};

/// The results of the same kernel source compiled for the processor; the device must return the
/// same bits. tests/interop/dequantize.py compares them with ggml's definition.
std::vector<float> expected_values(const kernel_store::QuantisedType& type,
                                   const std::vector<std::uint8_t>& blocks) {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  const Backend backend(device);
  Launcher launcher(device, ops::kernel_of(backend, "hiptool_dequantize"), type, table_blocks);
  copy_h2d_and_wait(launcher.blocks, std::as_bytes(std::span(blocks)));
  launcher.queue({{1}, {256}}, backend.stream());
  backend.synchronize();
  std::vector<float> values(launcher.count);
  copy_d2h_and_wait(std::as_writable_bytes(std::span(values)), launcher.out);
  return values;
}

class DequantizeWork final : public KernelWork {
 public:
  DequantizeWork(const Device& device, const WorkContext& context)
      : type_(find_type(context.dtype)),
        stream_(context.stream),
        launcher_(device, context.find_kernel("hiptool_dequantize"), type_,
                  std::max<std::uint64_t>(1, context.size_bytes / (4 * type_.values))),
        config_(stride_grid(context, launcher_.count / 4, dequantize_blocks_per_unit,
                            dequantize_units_per_thread)),
        table_(make_blocks(type_)),
        expected_(expected_values(type_, table_)) {}

  Figures figures() const override {
    Figures figures;
    figures.elements = launcher_.count;
    figures.size_bytes = launcher_.out.size_bytes();
    figures.bytes = static_cast<double>(launcher_.out.size_bytes() + launcher_.blocks.size_bytes());
    return figures;
  }

  void reset() override {
    const std::span<const std::byte> table = std::as_bytes(std::span(table_));
    Buffer& blocks = launcher_.blocks;
    for (std::size_t done = 0; done < blocks.size_bytes(); done += table.size()) {
      const std::size_t length = std::min(table.size(), blocks.size_bytes() - done);
      copy_h2d_and_wait(blocks.view(done, length), table.first(length));
    }
    fill_and_wait(launcher_.out, std::byte{0xFF}, *stream_);
  }

  void queue() override { launcher_.queue(config_, *stream_); }

  Comparison check() override {
    return compare_values(launcher_.out, launcher_.count, ValueKind::f32, 0, periodic(expected_));
  }

 private:
  const kernel_store::QuantisedType& type_;
  const StreamRef* stream_;
  Launcher launcher_;
  LaunchConfig config_;
  std::vector<std::uint8_t> table_;
  std::vector<float> expected_;
};

}  // namespace

void add_dequantize_family(std::vector<FamilyEntry>& families) {
  KernelFamily family{"dequantize", "model", "quantised types of GGUF to f32", {}};
  for (const kernel_store::QuantisedType& type : kernel_store::quantised_types)
    family.dtypes.emplace_back(type.name);
  families.push_back({std::move(family), 2, maker<DequantizeWork>()});
}

}  // namespace hiptool::measure
