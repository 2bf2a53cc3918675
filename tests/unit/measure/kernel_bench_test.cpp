// SPDX-License-Identifier: MIT
#include "measure/kernel_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "broken_kernels.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "measure/kernel/rates.hpp"
#include "measure/kernel/work.hpp"
#include "report/report.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

constexpr std::uint64_t quick_bytes = test::is_sanitized ? 4096 : 65536;

KernelBenchOptions quick(std::vector<std::string> names, std::uint64_t size_bytes = quick_bytes) {
  KernelBenchOptions options;
  options.names = std::move(names);
  options.sizes_bytes = {size_bytes};
  options.samples = 1;
  return options;
}

/// One of each group under the thread sanitizer: the others use the same threads, and all of them
/// take ten minutes there.
std::vector<KernelFamily> families_to_run() {
  std::vector<KernelFamily> chosen;
  std::set<std::string> groups;
  for (const KernelFamily& family : list_kernels()) {
    if (!family.is_in_all) continue;
    if (!test::is_thread_sanitized || groups.insert(family.group).second) chosen.push_back(family);
  }
  return chosen;
}

std::string failure(const KernelBenchOptions& options, const Device& device) {
  try {
    run_kernels(options, device);
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "nothing";
}

std::string text(const report::Value& value) {
  return report::format_value(value, report::Unit::none);
}

/// One kernel is another one.
KernelBenchOptions with_broken(KernelBenchOptions options, kernel_store::KernelLoader& loader,
                               std::string name, std::string broken) {
  keep_broken_kernels();
  options.find_kernel = [&loader, name, broken](std::string_view wanted) {
    if (wanted != name) return loader.kernel(wanted);
    return Kernel(loader.load("fill").module, broken);
  };
  return options;
}

}  // namespace

TEST_CASE("families have unique names, and groups are no families") {
  std::set<std::string> names;
  std::set<std::string> groups;
  for (const KernelFamily& family : list_kernels()) {
    CHECK(names.insert(family.name).second);
    groups.insert(family.group);
    CHECK(!family.description.empty());
    CHECK(!family.dtypes.empty());
  }
  for (const std::string& group : groups) CHECK((names.count(group) == 0 || group == "all"));
  CHECK(names.count("stream-triad") == 1);
}

TEST_CASE("every family of every type is right, also at sizes that fit nothing") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const std::vector<KernelFamily> families = families_to_run();
  std::vector<std::string> names;
  std::set<std::string> operations;
  for (const KernelFamily& family : families) {
    names.push_back(family.name);
    if (family.is_operation) operations.insert(family.name);
  }
  using Sizes = std::vector<std::uint64_t>;
  const Sizes sizes = test::is_sanitized ? Sizes{4112} : Sizes{1, 4112, 65536, 300016};
  const std::vector<unsigned> warps = test::is_sanitized ? std::vector{32u} : std::vector{32u, 64u};
  for (const unsigned lanes : warps) {
    hip::cpu::set_warp_size(lanes);
    for (const std::uint64_t size_bytes : sizes) {
      std::size_t told = 0;
      std::size_t expected = 0;
      for (const KernelFamily& family : families) {
        expected += (family.usual_dtypes.empty() ? family.dtypes : family.usual_dtypes).size();
      }
      KernelBenchOptions options = quick(names, size_bytes);
      if (test::is_sanitized) options.blocks_per_unit = 1;  // a fiber takes long then
      options.on_result = [&](const KernelResult&, std::size_t done, std::size_t total) {
        CHECK(done == ++told);
        CHECK(total == expected);
      };
      const auto results = run_kernels(options, device);
      CHECK(told == results.size());
      CHECK(results.size() == expected);
      for (const KernelResult& result : results) {
        CAPTURE(result.kernel);
        CAPTURE(result.dtype);
        CAPTURE(size_bytes);
        CAPTURE(lanes);
        // A product takes whole tiles, transpose two rows of 4096, other operations an element.
        const std::uint64_t least_bytes = result.kernel == "gemm"           ? 262144
                                          : result.kernel == "transpose"    ? 32768
                                          : operations.count(result.kernel) ? 4
                                                                            : 0;
        if (size_bytes < least_bytes && result.status == Status::skipped) {
          CHECK(result.reason.find(" is too small for " + result.kernel) != std::string::npos);
          continue;
        }
        if (result.kernel != "gemm") CHECK(size_bytes >= least_bytes);
        CHECK(result.reason == "");
        CHECK(to_string(result.status) == "ok");
        CHECK(result.checked > 0);
        CHECK(result.elements > 0);
        CHECK(result.samples_s.size() == 1);
        CHECK(result.max_error <= result.tolerance);
        CHECK(result.median_s.value_or(0) > 0);
        CHECK(result.destination == device.id());
      }
    }
  }
  hip::cpu::set_warp_size(32);
}

TEST_CASE("a kernel that is wrong anywhere is found out, with the place") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  kernel_store::KernelLoader loader(device);
  struct Case {
    const char* family;
    const char* dtype;
    const char* kernel;
    const char* broken;
    std::optional<std::uint64_t> first;
    std::uint64_t count;
    std::optional<std::uint64_t> bits;
    const char* expected;  ///< at that place; empty: what is expected is not a round number
    const char* got;
  };
  const std::optional<std::uint64_t> any;
  const Case cases[] = {
      // All bits set are what reset() leaves: nothing was written there.
      {"stream-triad", "f32", "hiptool_stream_triad_f32", "broken_triad_short", 16380, 4, any, "",
       "NaN"},
      {"stream-copy", "f32", "hiptool_stream_copy", "broken_copy_bit", 4002, 1, 0x10, "", ""},
      {"memset", "u32", "hiptool_stream_memset", "broken_memset", 0, 16384, any, "", "4294967295"},
      {"stream-dot", "f32", "hiptool_dot_f32", "broken_dot", any, 1, any, "", ""},
      {"memtest-address", "u32", "hiptool_memtest_write", "broken_memtest_write", 3109, 1,
       0x80000000u, "3110", "2147486758"},
      {"memtest-inversions", "u32", "hiptool_memtest_check", "broken_memtest_invert", 100, 1, 0x8,
       "", "–"},
      {"fma", "bf16", "hiptool_fma_bf16", "broken_fma_bf16", 0, 0, any, "", ""},
      {"gemm", "bf16", "hiptool_gemm_bf16", "broken_gemm_bf16", 647, 1, any, "", ""},
  };
  for (const Case& test : cases) {
    CAPTURE(test.family);
    CAPTURE(test.broken);
    KernelBenchOptions options = quick({test.family}, 65536);
    options.dtypes = {test.dtype};
    const auto results =
        run_kernels(with_broken(options, loader, test.kernel, test.broken), device);
    REQUIRE(results.size() == 1);
    CHECK(results[0].status == Status::mismatch);
    REQUIRE(results[0].wrong);
    const WrongData& wrong = *results[0].wrong;
    CHECK(wrong.first_index == test.first);
    CHECK((test.count == 0 ? wrong.count > 0 : wrong.count == test.count));
    if (test.bits) CHECK(wrong.xor_bits == *test.bits);
    if (test.expected[0] != '\0') CHECK(text(wrong.expected) == test.expected);
    if (test.got[0] != '\0') CHECK(text(wrong.got) == test.got);
    CHECK(text(wrong.expected) != text(wrong.got));
    // It stays what it is when it is read again, where there is a place to read at; the memory of
    // the inversions was right again by then.
    const bool is_there = test.first && test.family != std::string("memtest-inversions");
    CHECK(wrong.reread_agrees == (is_there || test.family == std::string("stream-dot")));
    CHECK(results[0].samples_s.empty());
  }
}

TEST_CASE("a memory test that misses its planted bit says what its check reported, and no more") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  kernel_store::KernelLoader loader(device);
  const auto run = [&](const char* broken) {
    const auto results = run_kernels(
        with_broken(quick({"memtest-address"}, 65536), loader, "hiptool_memtest_check", broken),
        device);
    REQUIRE(results.size() == 1);
    CHECK(results[0].status == Status::mismatch);
    CHECK_FALSE(results[0].wrong);  // the memory holds what was written
    CHECK(results[0].samples_s.empty());
    return results[0].reason;
  };
  CHECK(run("broken_memtest_check") ==
        "a self-test fault was missed: bits 0x400 of word 16383 were flipped, and the check "
        "reported no wrong word");
  CHECK(run("broken_memtest_place") ==
        "a self-test fault was missed: bits 0x400 of word 16383 were flipped, and the check "
        "reported 1 wrong word, the first at 16382, bits 0x400");
}

TEST_CASE("a memory test of memory with a wrong word of its own has not missed its planted bit") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  kernel_store::KernelLoader loader(device);
  const auto results = run_kernels(with_broken(quick({"memtest-address"}, 65536), loader,
                                               "hiptool_memtest_write", "broken_memtest_write"),
                                   device);
  REQUIRE(results.size() == 1);
  CHECK(results[0].status == Status::mismatch);
  REQUIRE(results[0].wrong);
  CHECK(results[0].wrong->first_index == 3109);  // the second word of unit 777
  CHECK(results[0].reason.empty());
}

TEST_CASE("sizes are those that ran; one that comes to the same does not run again") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  KernelBenchOptions options = quick({"gemm", "stream-copy"}, 1024);
  options.dtypes = {"f32"};
  options.sizes_bytes = {1000, 66000, 1 << 20};
  std::vector<std::size_t> told;
  options.on_result = [&](const KernelResult&, std::size_t, std::size_t total) {
    told.push_back(total);
  };
  const auto results = run_kernels(options, device);
  std::vector<std::string> ids;
  for (const KernelResult& result : results) ids.push_back(result.id);
  CHECK(ids == std::vector<std::string>{
                   "stream-copy.f32.992B@cpu:0", "stream-copy.f32.66000B@cpu:0",
                   "stream-copy.f32.1MiB@cpu:0", "gemm.f32.1000B@cpu:0", "gemm.f32.64KiB@cpu:0"});
  CHECK(results[0].size_bytes == 992);
  CHECK(results[3].status == Status::skipped);
  CHECK(results[3].reason == "1000 B is too small for gemm of f32");
  CHECK(results[4].elements == 128 * 128);
  CHECK(results[4].size_bytes == 65536);
  CHECK(results[4].requested_sizes_bytes == std::vector<std::uint64_t>{66000, 1 << 20});
  CHECK(told == std::vector<std::size_t>{6, 6, 6, 6, 6});
  options.sizes_bytes.clear();
  options.memory_share = 0.0001;
  const auto shared = run_kernels(options, device);
  CHECK(shared.at(0).id == "stream-copy.f32.0.01%@cpu:0");
  CHECK(shared.at(0).requested_sizes_bytes.empty());
}

TEST_CASE("multiply-adds that a device has no instruction for are skipped with the reason") {
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = test::device(platforms);
  KernelBenchOptions options = quick({"fma"});
  options.dtypes = {"bf16"};
  const auto results = run_kernels(options, device);
  REQUIRE(results.size() == 1);
  CHECK(results[0].reason == missing_multiply_add(device.platform(), device.info().arch, "bf16"));
  if (device.platform() == Platform::cpu) CHECK(results[0].reason == "");
  CHECK(results[0].status == (results[0].reason.empty() ? Status::ok : Status::skipped));
}

TEST_CASE("matrix products of 16 bits go by matrix instructions where the device has them") {
  Platforms platforms(Platforms::Options::from_environment());
  const Device device = test::device(platforms);
  kernel_store::KernelLoader loader(device);
  std::set<std::string> found;
  KernelBenchOptions options = quick({"gemm"}, 256 << 10);
  options.find_kernel = [&](std::string_view name) {
    found.insert(std::string(name));
    return loader.kernel(name);
  };
  for (const KernelResult& result : run_kernels(options, device)) {
    CAPTURE(result.dtype);
    CHECK(to_string(result.status) == "ok");
    CHECK(result.checked == 2 * result.elements);
    CHECK(result.size_bytes == result.elements * 4);
  }
  const bool is_matrix = has_matrix_instructions(device.platform(), device.info().arch);
  const std::string stem = is_matrix ? "hiptool_gemm_matrix_" : "hiptool_gemm_";
  CHECK(found == std::set<std::string>{"hiptool_gemm_f32", stem + "f16", stem + "bf16"});
}

TEST_CASE("names, groups and types choose; what is unknown is refused before anything runs") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  CHECK(run_kernels(quick({"stream-triad"}), device).size() == 2);
  CHECK(run_kernels(quick({"memtest"}), device).size() == 5);
  KernelBenchOptions options = quick({"sum", "stream-dot", "sum"});
  options.dtypes = {"f64"};
  options.sizes_bytes = {4096, 8192};
  const auto results = run_kernels(options, device);
  REQUIRE(results.size() == 4);
  CHECK(results[0].kernel == "stream-dot");
  CHECK(results[0].elements == 512);
  CHECK(results[3].kernel == "sum");
  CHECK(results[3].size_bytes == 8192);
  CHECK(failure(quick({"stream-tria"}), device) == "not_found: unknown kernel 'stream-tria'");
  options.dtypes = {"f63"};
  CHECK(failure(options, device) == "invalid_argument: no kernel has the type 'f63'");
  CHECK(failure(quick({"sum"}, 0), device).find("invalid_argument") == 0);
  options = quick({"sum"});
  for (const double share : {0.0, -0.1, 1.01, std::nan("")}) {
    options.memory_share = share;
    CHECK(failure(options, device).find("invalid_argument") == 0);
  }
  options = quick({"memset", "stream-copy"});
  options.dtypes = {"i32"};  // of fma only
  CHECK(failure(options, device).find("invalid_argument: none of the kernels has") == 0);
  options = quick({"sum"});
  options.samples = 0;
  CHECK(failure(options, device).find("invalid_argument") == 0);
}

TEST_CASE("what cannot run is skipped or failed with the reason") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  KernelBenchOptions options = quick({"memset", "sum"});
  options.dtypes = {"f64"};
  auto results = run_kernels(options, device);
  REQUIRE(results.size() == 2);
  CHECK(results[0].kernel == "memset");
  CHECK(results[0].status == Status::skipped);
  CHECK(results[0].reason == "has none of the requested types");
  CHECK(results[1].status == Status::ok);

  results = run_kernels(quick({"memset"}, std::uint64_t{1} << 60), device);
  REQUIRE(results.size() == 1);
  CHECK(results[0].status == Status::skipped);
  CHECK(!results[0].reason.empty());

  for (const ErrorCode code : {ErrorCode::unsupported, ErrorCode::device}) {
    options = quick({"memset", "read"});
    options.dtypes = {"u32"};
    options.find_kernel = [code](std::string_view) -> Kernel {
      throw Error(code, "test", "no such thing");
    };
    results = run_kernels(options, device);
    REQUIRE(results.size() == 2);
    for (const KernelResult& result : results) {
      CHECK(result.reason == "no such thing");
      CHECK(result.status == (code == ErrorCode::device ? Status::failed : Status::skipped));
    }
  }
}

TEST_CASE("samples, soak and cancelling") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  KernelBenchOptions options = quick({"memset"}, 4096);
  if (test::is_sanitized) options.blocks_per_unit = 1;  // a fiber takes long then
  options.samples = 7;
  CHECK(run_kernels(options, device).at(0).samples_s.size() == 7);
  KernelResult soaked;
  // Until another round fits, which depends on the machine.
  for (options.soak_s = 0.01; soaked.samples_s.size() <= 7 && options.soak_s < 100;) {
    options.soak_s *= 4;
    soaked = run_kernels(options, device).at(0);
  }
  CHECK(soaked.samples_s.size() > 7);
  CHECK(soaked.samples_s.size() % 7 == 0);
  CHECK(soaked.checked == soaked.samples_s.size() / 7 * 2 * 1024);

  CancelToken cancel;
  options = quick({"memset", "sum"}, 4096);
  options.dtypes = {"u32"};
  options.cancel = &cancel;
  options.on_result = [&](const KernelResult&, std::size_t, std::size_t) { cancel.cancel(); };
  CHECK(run_kernels(options, device).size() == 1);
}

// Of more than a cache holds, which takes a sanitizer long.
TEST_CASE("rates count what the definitions say, and the share is of the peak given" *
          doctest::skip(test::is_sanitized)) {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  KernelBenchOptions options = quick({"stream-triad"}, 64 << 20);
  options.dtypes = {"f64"};
  options.memory_peak = Peak{1e15, "user"};
  KernelResult result = run_kernels(options, device).at(0);
  REQUIRE(result.median_s);
  CHECK(*result.bytes_per_s == doctest::Approx(3.0 * (64 << 20) / *result.median_s));
  CHECK(*result.flops_per_s == doctest::Approx(2.0 * (8 << 20) / *result.median_s));
  REQUIRE(result.share_of_limit);
  CHECK(*result.share_of_limit == doctest::Approx(*result.bytes_per_s / 1e15));
  CHECK(result.limit_source == "user");
  CHECK(result.share_reason == "");

  options.memory_peak = Peak{1e6, "user"};
  result = run_kernels(options, device).at(0);
  CHECK_FALSE(result.share_of_limit);
  CHECK(result.is_above_limit);
  CHECK(result.limit_source == "");
  CHECK(result.share_reason.find(" % of the peak memory bandwidth of 1.00 MB/s (user), which is "
                                 "therefore not its limit: another cache may hold the data "
                                 "(192 MiB)") != std::string::npos);
}

TEST_CASE("a latency has no peak, and what no public source states has none") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  KernelBenchOptions options = quick({"launch", "chase", "fma", "memset"});
  options.dtypes = {"u32", "f32"};
  std::map<std::string, std::string> reasons;
  for (const KernelResult& result : run_kernels(options, device)) {
    CHECK_FALSE(result.share_of_limit);
    CHECK(result.limit_source == "");
    reasons[result.kernel] = result.share_reason;
  }
  CHECK(reasons["launch"] == "a latency has no peak");
  CHECK(reasons["chase"] == "a latency has no peak");
  CHECK(reasons["fma"] ==
        "no public source states what " + device.info().arch + " does in a clock");
  CHECK(reasons["memset"] == "the peak memory bandwidth is not known");
}

TEST_CASE("a second read that differs says that the transfer is at fault") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  Buffer data(device, 64);
  std::vector<float> values(16, 1.0f);
  copy_h2d_and_wait(data, std::as_bytes(std::span(values)));
  for (const bool changes : {false, true}) {
    const Comparison seen = compare_values(data, 16, ValueKind::f32, 0,
                                           [&](std::uint64_t first, std::span<std::byte> to) {
                                             CHECK(first == 0);
                                             std::vector<float> expected(16, 1.0f);
                                             expected[5] = 2.0f;
                                             std::memcpy(to.data(), expected.data(), to.size());
                                             if (changes)
                                               static_cast<float*>(data.address())[5] = 7.0f;
                                           });
    CHECK(seen.checked == 16);
    REQUIRE(seen.wrong);
    CHECK(seen.wrong->first_index == 5);
    CHECK(text(seen.wrong->expected) == "2");
    CHECK(text(seen.wrong->got) == "1");
    CHECK(seen.wrong->reread_agrees == !changes);
  }
}

TEST_CASE("a tolerance lets rounding pass, and NaN never") {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  Buffer data(device, 12);
  const auto compare = [&](float got) {
    const std::vector<float> values{100.0f, got, 0.25f};
    copy_h2d_and_wait(data, std::as_bytes(std::span(values)));
    return compare_values(data, 3, ValueKind::f32, 0.01,
                          periodic(std::vector<float>{100.0f, 200.0f, 0.25f}));
  };
  CHECK(!compare(201.5f).wrong);
  CHECK(compare(201.0f).max_error == doctest::Approx(0.005));
  CHECK(compare(203.0f).wrong->first_index == 1);
  CHECK(compare(std::nanf("")).wrong->count == 1);
}
