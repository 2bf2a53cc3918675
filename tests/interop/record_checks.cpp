// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "interop/recorder.hpp"
#include "kernel_store/digest.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "kernel_store/value_check.hpp"
#include "measure/copy/device_tools.hpp"

namespace hiptool::test {
namespace {

constexpr std::uint32_t threads = 256;
constexpr std::uint64_t units = 600;  // of 16 bytes; more than the threads of two blocks
constexpr LaunchConfig two_blocks{{2}, {threads}};

template <typename Elements>
Buffer to_device(const Backend& backend, const Elements& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  Buffer result(backend.device(), bytes.size());
  copy_h2d_and_wait(result, bytes);
  return result;
}

/// {0, ~0, 0}, where a check begins.
Buffer nothing_found(const Backend& backend) {
  constexpr std::array<std::uint64_t, 3> found{0, ~std::uint64_t{0}, 0};
  return to_device(backend, found);
}

void change_byte(const Tensor& tensor, std::uint64_t at) {
  constexpr std::byte other{0x5A};
  copy_h2d_and_wait(Buffer(tensor.buffer()).view(at, 1), std::span(&other, 1));
}

std::byte* bytes_of(const Tensor& tensor) { return static_cast<std::byte*>(tensor.address()); }

/// Of every length at which XXH3 changes its way, at multiples of 16 and not.
void record_digests(Recorder& recorder, kernel_store::KernelLoader& loader) {
  const Backend& backend = recorder.backend();
  kernel_store::BlockDigester digester(loader);
  for (const std::uint64_t alignment : {16u, 3u}) {
    recorder.begin("digests at multiples of " + std::to_string(alignment), DType::u8, "packed");
    std::vector<kernel_store::DigestRange> ranges;
    std::uint64_t end = 0;
    for (const std::uint64_t size : {1u, 3u, 4u, 8u, 9u, 16u, 17u, 128u, 129u, 240u, 241u, 1024u,
                                     1025u, 16383u, 16384u, 16385u}) {
      ranges.push_back({end, size});
      end += (size + alignment - 1) / alignment * alignment;
    }
    const Tensor data = recorder.tensor(DType::u8, {end}, "packed");
    const kernel_store::DigestTable table(Buffer(data.buffer()), ranges);
    const Tensor digests = recorder.empty(DType::i64, {table.block_count() + 1}, "packed");
    digester.digest(table, 0, table.block_count(), Buffer(digests.buffer()), backend.stream());
    backend.synchronize();
  }
}

/// NaN and infinity in every type that has them: as single values, as scales of blocks, and where
/// their bits are spread.
void record_value_checks(Recorder& recorder, kernel_store::KernelLoader& loader) {
  const Backend& backend = recorder.backend();
  const Kernel kernel = loader.kernel("hiptool_value_check");
  for (const char* const name : {"F16", "BF16", "F32", "F64", "F8_E4M3", "F8_E5M2", "Q4_0", "Q4_1",
                                 "Q8_0", "Q2_K", "Q4_K", "Q6_K", "IQ1_M", "MXFP4"}) {
    const auto descriptor = kernel_store::find_value_descriptor(name);
    if (!descriptor) continue;
    recorder.begin(std::string("value_check ") + name, DType::u8, "packed");
    constexpr std::uint64_t blocks = 1100;
    const std::uint64_t size = blocks * descriptor->block_bytes;
    const Tensor data = recorder.tensor(DType::u8, {size}, "packed");
    for (std::uint64_t i = 7; i + 1 < size; i += 97) change_byte(data, i);
    const std::array tiles{kernel_store::ValueTile{0, blocks, 0, 0, 0}};
    const std::array descriptors{*descriptor};
    const std::array counts{kernel_store::ValueCounts{}};
    const Buffer on_device = to_device(backend, tiles);
    const Buffer types = to_device(backend, descriptors);
    const Buffer results = to_device(backend, counts);
    launch(kernel, LaunchConfig{{1}, {threads}}, backend.stream(), data.address(), on_device, types,
           std::uint64_t{0}, std::uint64_t{tiles.size()}, results);
    backend.synchronize();
  }
}

/// Words as they should be, and with one that is not.
void record_memory_tests(Recorder& recorder, kernel_store::KernelLoader& loader) {
  const Backend& backend = recorder.backend();
  const Kernel write_pattern = loader.kernel("hiptool_pattern_write");
  const Kernel check_pattern = loader.kernel("hiptool_pattern_check");
  const Kernel write_test = loader.kernel("hiptool_memtest_write");
  const Kernel check_test = loader.kernel("hiptool_memtest_check");
  recorder.begin("pattern", DType::u32, "packed");
  const Tensor words = recorder.empty(DType::u32, {4 * units}, "packed");
  launch(write_pattern, two_blocks, backend.stream(), words.address(), 4 * units,
         std::uint32_t{77});
  backend.synchronize();
  change_byte(words, 5 * units);
  launch(check_pattern, two_blocks, backend.stream(), words.address(), 4 * units, std::uint32_t{77},
         nothing_found(backend));
  backend.synchronize();
  for (std::uint32_t test = 0; test < 5; ++test) {
    recorder.begin("memtest " + std::to_string(test), DType::u32, "packed");
    launch(write_test, two_blocks, backend.stream(), words.address(), units, test, std::uint32_t{3},
           std::uint32_t{0});
    backend.synchronize();
    change_byte(words, 7 * units);
    for (const std::uint32_t inverts : {1u, 0u}) {
      const Buffer found = nothing_found(backend);
      launch(check_test, two_blocks, backend.stream(), words.address(), units, test,
             std::uint32_t{3}, inverts == 0 ? ~std::uint32_t{0} : std::uint32_t{0}, inverts, found);
      backend.synchronize();
    }
  }
}

void record_copies(Recorder& recorder, kernel_store::KernelLoader& loader) {
  const Backend& backend = recorder.backend();
  recorder.begin("copies and fills", DType::u8, "packed");
  const Tensor from = recorder.tensor(DType::u8, {16 * units}, "packed");
  const Tensor to = recorder.empty(DType::u8, {16 * units}, "packed");
  launch(loader.kernel("hiptool_copy_16"), two_blocks, backend.stream(), from.address(),
         to.address(), units);
  launch(loader.kernel("hiptool_copy_1"), two_blocks, backend.stream(), to.address(),
         from.address(), 16 * units - 3);
  launch(loader.kernel("hiptool_fill_u32"), two_blocks, backend.stream(), to.address(),
         4 * units - 1, std::uint32_t{0x12345678});
  launch(loader.kernel("hiptool_stream_write"), two_blocks, backend.stream(), to.address(), units,
         std::uint32_t{99});
  launch(loader.kernel("hiptool_stream_memset"), two_blocks, backend.stream(), to.address(), units,
         std::uint32_t{99});
  backend.synchronize();
}

/// Repeated copies, by a thread for each unit and by fewer threads.
void record_passes(Recorder& recorder, kernel_store::KernelLoader& loader,
                   const measure::DeviceTools& tools) {
  const Backend& backend = recorder.backend();
  constexpr std::uint32_t passes = 3;
  recorder.begin("copy passes", DType::u8, "packed");
  const Tensor from = recorder.tensor(DType::u8, {16 * units}, "packed");
  const Tensor to = recorder.empty(DType::u8, {16 * units}, "packed");
  tools.copy_passes(bytes_of(to), bytes_of(from), 16 * units, passes, backend.stream());
  backend.synchronize();
  // DeviceTools launches fewer threads than units from 64 MiB on only.
  recorder.begin("copy passes by fewer threads", DType::u8, "packed");
  constexpr std::uint32_t threads_of_passes = 512;
  constexpr std::uint64_t many = 2 * threads_of_passes * 12 + 600;  // 12 or 13 for a thread
  const Tensor source = recorder.tensor(DType::u8, {16 * many}, "packed");
  launch(loader.kernel("hiptool_copy_16_passes"), LaunchConfig{{2}, {threads_of_passes}},
         backend.stream(), source.address(),
         recorder.empty(DType::u8, {16 * many}, "packed").address(), many, passes);
  backend.synchronize();
}

/// Copies both ways at once, and checks of the halves that were copied, with no word that is wrong,
/// one, and all.
void record_both_ways(Recorder& recorder, kernel_store::KernelLoader& loader,
                      measure::DeviceTools& tools) {
  const Backend& backend = recorder.backend();
  constexpr std::uint32_t passes = 2;
  constexpr std::uint32_t seed = 77;
  constexpr std::uint64_t size = 16 * 1280;  // more than the threads of a block
  const std::uint64_t shift = 4 * tools.stretch_bytes();
  recorder.begin("copy both ways", DType::u32, "packed");
  const auto words = [&](std::uint32_t own_seed) {
    const Tensor result = recorder.empty(DType::u32, {(size + 2 * shift) / 4}, "packed");
    backend.synchronize();  // DeviceTools has a stream of its own
    tools.write(Buffer(result.buffer()), own_seed);
    return result;
  };
  const Tensor here = words(seed);
  const Tensor there = words(~seed);
  tools.copy_both_ways(bytes_of(here), bytes_of(there), size, shift, passes, backend.stream());
  backend.synchronize();
  for (const bool is_odd : {false, true}) {
    recorder.begin(std::string("check ") + (is_odd ? "odd" : "even") + " stretches", DType::u32,
                   "packed");
    const auto count_wrong = [&](const Tensor& tensor) {
      const Buffer copied = Buffer(tensor.buffer()).view(0, size);
      const std::uint32_t copied_seed = measure::shifted_seed(is_odd ? ~seed : seed, shift / 4);
      return tools.check_half(copied, copied_seed, is_odd).count;
    };
    const Tensor& copied = is_odd ? here : there;
    std::uint64_t wrong = count_wrong(copied);
    change_byte(copied, 8 * tools.stretch_bytes() + (is_odd ? tools.stretch_bytes() : 0) + 7);
    wrong = 10 * wrong + count_wrong(copied);
    if (wrong != 1 || count_wrong(is_odd ? there : here) != size / 8) {
      throw std::logic_error("copies both ways on the cpu platform are wrong");
    }
  }
  // The cpu platform's warps have 32 lanes, and those of gfx942 have 64.
  recorder.begin("copy both ways, 64 lanes", DType::u32, "packed");
  launch(loader.kernel("hiptool_copy_both_ways"), LaunchConfig{{2}, {1024}}, backend.stream(),
         here.address(), there.address(), size / 16, 2 * shift / 16, std::uint32_t{64}, passes);
  backend.synchronize();
}

void record_benchmarks(Recorder& recorder, kernel_store::KernelLoader& loader) {
  const Backend& backend = recorder.backend();
  const auto stream = [&](const std::string& name, DType dtype) {
    recorder.begin("stream " + name, dtype, "packed");
    const std::uint64_t count = 16 * units / element_size_bytes(dtype);
    const Tensor a = recorder.tensor(dtype, {count}, "packed", Data::numbers);
    const Tensor b = recorder.tensor(dtype, {count}, "packed", Data::numbers);
    const Tensor out = recorder.tensor(dtype, {count}, "packed", Data::numbers);
    launch(loader.kernel("hiptool_stream_" + name), two_blocks, backend.stream(), a.address(),
           b.address(), out.address(), units);
    backend.synchronize();
  };
  const auto reduction = [&](const std::string& name, DType dtype) {
    recorder.begin(name, dtype, "packed");
    const std::uint64_t count = 16 * units / element_size_bytes(dtype);
    const Tensor a = recorder.tensor(dtype, {count}, "packed", Data::numbers);
    const Tensor b = recorder.tensor(dtype, {count}, "packed", Data::numbers);
    LaunchConfig config = two_blocks;
    config.shared_bytes = threads / 32 * 8;
    launch(loader.kernel("hiptool_" + name), config, backend.stream(), a.address(), b.address(),
           units, recorder.empty(dtype, {2}, "packed").address());
    backend.synchronize();
  };
  stream("copy", DType::f32);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::string type(to_string(dtype));
    for (const char* const name : {"scale_", "add_", "triad_", "nstream_"}) {
      stream(name + type, dtype);
    }
    reduction("dot_" + type, dtype);
  }
  reduction("read", DType::u32);
  recorder.begin("atomic_add", DType::u32, "packed");
  const Tensor counters = recorder.ids(DType::u32, {64}, "packed", 9);
  launch(loader.kernel("hiptool_atomic_add"), two_blocks, backend.stream(), counters.address(),
         std::uint64_t{5}, std::uint32_t{63});
  backend.synchronize();
  recorder.begin("shared_read", DType::u32, "packed");
  LaunchConfig config = two_blocks;
  config.shared_bytes = 512 * 16;  // kernels/units.hip
  launch(loader.kernel("hiptool_shared_read"), config, backend.stream(),
         recorder.empty(DType::u32, {2 * threads}, "packed").address(), std::uint64_t{21});
  backend.synchronize();
  recorder.begin("chase", DType::u32, "packed");
  const Tensor next = recorder.ids(DType::u32, {300}, "packed", 300);
  const std::uint32_t start = 17;
  copy_h2d_and_wait(Buffer(next.buffer()).view(0, 4), std::as_bytes(std::span(&start, 1)));
  const Buffer place = to_device(backend, std::array{start});
  launch(loader.kernel("hiptool_chase"), LaunchConfig{{1}, {64}}, backend.stream(), next.address(),
         std::uint64_t{45}, place);
  backend.synchronize();
}

/// Factors and terms of each type with a fraction.
void record_rates(Recorder& recorder, kernel_store::KernelLoader& loader) {
  const Backend& backend = recorder.backend();
  struct Chain {
    const char* type;
    std::uint64_t a, b;
  };
  for (const Chain& chain :
       {Chain{"f32", 0x3F7FFF58, 0x3C23D70A}, Chain{"f64", 0x3FEFFFEB074A771D, 0x3F847AE147AE147B},
        Chain{"i32", 0x0019660D, 0x3C6EF35F},
        Chain{"f16", 0x3BF83BFA3BF83BFA, 0x211E211F211E211E}}) {
    recorder.begin(std::string("fma ") + chain.type, DType::i64, "packed");
    launch(loader.kernel(std::string("hiptool_fma_") + chain.type), two_blocks, backend.stream(),
           recorder.empty(DType::i64, {2 * threads}, "packed").address(), std::uint64_t{3}, chain.a,
           chain.b);
    backend.synchronize();
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    recorder.begin("gemm", dtype, "packed");
    constexpr std::uint64_t side = 128;
    const Tensor a = recorder.tensor(dtype, {side, side}, "packed", Data::numbers);
    const Tensor b = recorder.tensor(dtype, {side, side}, "packed", Data::numbers);
    LaunchConfig config{{1}, {threads}};
    config.shared_bytes = 16896;  // kernels/gemm.hip
    launch(loader.kernel("hiptool_gemm_" + std::string(to_string(dtype))), config, backend.stream(),
           a.address(), b.address(), recorder.empty(DType::f32, {side, side}, "packed").address(),
           side);
    backend.synchronize();
  }
}

}  // namespace

void record_all_checks(Recorder& recorder) {
  kernel_store::KernelLoader loader(recorder.backend().device());
  record_digests(recorder, loader);
  record_value_checks(recorder, loader);
  record_memory_tests(recorder, loader);
  record_copies(recorder, loader);
  measure::DeviceTools tools(recorder.backend().device());
  record_passes(recorder, loader, tools);
  record_both_ways(recorder, loader, tools);
  record_benchmarks(recorder, loader);
  record_rates(recorder, loader);
}

}  // namespace hiptool::test
