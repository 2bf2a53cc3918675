// SPDX-License-Identifier: MIT
#include "measure/ops/sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "measure/kernel_bench.hpp"
#include "measure/ops/timed.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

SweepOptions only(std::vector<std::string> names, std::vector<std::string> types) {
  SweepOptions options;
  options.names = std::move(names);
  options.dtypes = std::move(types);
  return options;
}

/// The named operation, of which each call may do something else.
std::vector<OperationEntry> altered(
    const char* name,
    const std::function<void(OperationCase&, std::span<const std::uint64_t>)>& alter) {
  OperationEntry entry = *find_operation(name);
  entry.cases = [cases = entry.cases, alter](DType dtype, std::span<const std::uint64_t> dims,
                                             InputMaker& maker) {
    auto list = cases(dtype, dims, maker);
    for (OperationCase& call : list) alter(call, dims);
    return list;
  };
  return {entry};
}

}  // namespace

TEST_CASE("operations have unique names, types and cases of every shape") {
  std::set<std::string> names;
  std::set<std::string> groups;
  for (const OperationEntry& operation : operations()) {
    CAPTURE(operation.name);
    CHECK(names.insert(operation.name).second);
    groups.insert(operation.group);
    CHECK(!operation.description.empty());
    CHECK(!operation.dtypes.empty());
    InputMaker maker(DataKind::random, 1);
    CHECK(!operation.cases(operation.dtypes.front(), Dims{4, 6}, maker).empty());
  }
  for (const std::string& group : groups) CHECK(names.count(group) == 0);
  CHECK(names.count("ops") + names.count("all") + groups.count("ops") + groups.count("all") == 0);
}

TEST_CASE("data is the same for the same seed and has what its kind promises") {
  const auto bytes = [](DataKind kind, DType dtype, std::uint64_t seed) {
    InputMaker maker(kind, seed);
    return maker.numbers(dtype, Dims{256, 256}).bytes;
  };
  CHECK(bytes(DataKind::random, DType::f32, 1) == bytes(DataKind::random, DType::f32, 1));
  CHECK(bytes(DataKind::random, DType::f32, 1) != bytes(DataKind::random, DType::f32, 2));
  for (const DType dtype : dtypes) {
    const auto whole = reference::values_of(dtype, bytes(DataKind::whole, dtype, 1), {});
    std::set<long double> seen(whole.at.begin(), whole.at.end());
    CHECK(seen.size() == 17);
    CHECK((*seen.begin() == -8 || *seen.begin() == 0));
  }
  InputMaker maker(DataKind::all_bits, 1);
  const auto left = maker.numbers(DType::f8e4m3, Dims{65536}).bytes;
  const auto right = maker.numbers(DType::f8e4m3, Dims{65536}).bytes;
  std::set<std::pair<std::byte, std::byte>> pairs;
  for (std::size_t i = 0; i < left.size(); ++i) pairs.insert({left[i], right[i]});
  CHECK(pairs.size() == 65536);
  InputMaker halves(DataKind::all_bits, 1);
  const auto every = halves.numbers(DType::f16, Dims{65536}).bytes;
  std::set<std::pair<std::byte, std::byte>> patterns;
  for (std::size_t i = 0; i < every.size(); i += 2) patterns.insert({every[i], every[i + 1]});
  CHECK(patterns.size() == 65536);
}

TEST_CASE("a sweep tries every type and layout, and its digests do not depend on what else runs") {
  Platforms platforms;
  const Device device = test::device(platforms);
  std::size_t told = 0;
  SweepOptions options = only({"sub", "compare"}, {"f16", "i32"});
  options.on_result = [&](std::span<const KernelResult> types, std::size_t done,
                          std::size_t total) {
    CHECK(types.size() == 2);
    CHECK(done == ++told);
    CHECK(total == 7);
  };
  const auto results = sweep_operations(options, device);
  CHECK(told == 7);
  REQUIRE(results.size() == 14);
  for (const KernelResult& result : results) {
    CAPTURE(result.id);
    CHECK(to_string(result.status) == "ok");
    CHECK(result.layouts.size() == arrangements.size() - (result.group == "compare" ? 1 : 0));
    CHECK(result.checked > 10000);
    CHECK(result.digest.size() == 16);
  }
  CHECK(results[0].id == "sub.i32@" + device.id());
  SweepOptions alone = only({"sub"}, {"f16"});
  CHECK(sweep_operations(alone, device)[0].digest == results[1].digest);
  alone.seed = 2;
  CHECK(sweep_operations(alone, device)[0].digest != results[1].digest);
  alone.arrangements = {Arrangement::spread};
  alone.seed = 1;
  const auto spread = sweep_operations(alone, device)[0].layouts;
  REQUIRE(spread.size() == 1);
  CHECK(spread[0].digest == results[1].layouts[4].digest);
  CHECK(results[1].layouts[4].layout == "spread");
}

TEST_CASE("one wrong layout of one type is reported, and the others are right") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const auto broken = altered("add", [](OperationCase& call, std::span<const std::uint64_t>) {
    if (call.result_dtype != DType::i16) return;
    call.run = [](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
      const bool is_hit = out.layout().rank() == 2 && out.dims()[0] == 33 &&
                          !in[0].layout().is_contiguous() && out.layout().is_contiguous();
      ops::binary_into(backend, out, is_hit ? ops::Binary::sub : ops::Binary::add, in[0], in[1]);
    };
  });
  SweepOptions options = only({"add"}, {"i16", "u8"});
  options.operations = &broken;
  options.arrangements = {Arrangement::packed, Arrangement::transposed};
  const auto results = sweep_operations(options, device);
  REQUIRE(results.size() == 2);
  CHECK(to_string(results[0].status) == "ok");  // u8
  CHECK(to_string(results[1].status) == "mismatch");
  REQUIRE(results[1].layouts.size() == 2);
  CHECK_FALSE(results[1].layouts[0].has_wrong);
  CHECK(results[1].layouts[1].has_wrong);
  REQUIRE(results[1].wrong);
  CHECK(results[1].wrong->count > 1000);
  CHECK(results[1].reason.starts_with("transposed 33x40 of whole numbers: element ["));
}

TEST_CASE("a failed call ends the type, and unknown names and types are refused") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const auto failing = altered("add", [](OperationCase& call, std::span<const std::uint64_t>) {
    if (call.result_dtype == DType::u8) return;
    call.run = [](const Backend&, std::span<const Tensor>, const Tensor&) {
      throw Error(ErrorCode::out_of_memory, "allocate", "none left");
    };
  });
  SweepOptions options = only({"ops"}, {"u8", "i32"});
  options.operations = &failing;
  const auto results = sweep_operations(options, device);
  CHECK(to_string(results[0].status) == "ok");
  CHECK(to_string(results[1].status) == "skipped");
  CHECK(results[1].reason == "none left");
  CHECK_THROWS_AS(sweep_operations(only({"sum of all"}, {}), device), Error);
  CHECK_THROWS_AS(sweep_operations(only({"add"}, {"f23"}), device), Error);
  CancelToken cancelled;
  cancelled.cancel();
  options.cancel = &cancelled;
  CHECK(sweep_operations(options, device).empty());
}

TEST_CASE("single operations are timed, rated and judged at a shape") {
  Platforms platforms;
  const Device device = test::device(platforms);
  KernelBenchOptions options;
  options.names = {"mul", "lt"};
  options.dtypes = {"f16"};
  options.shape = {37, 130};
  for (const Arrangement one : arrangements) {
    if (takes_any_shape(one)) options.layouts.emplace_back(to_string(one));
  }
  options.samples = 1;
  const auto results = run_kernels(options, device);
  REQUIRE(results.size() == 12);
  for (const KernelResult& result : results) {
    CAPTURE(result.id);
    const bool has_no_form = result.kernel == "lt" && result.layout == "in-place";
    CHECK(to_string(result.status) == (has_no_form ? "skipped" : "ok"));
    if (has_no_form) continue;
    CHECK(result.shape == "37x130");
    CHECK(result.elements == 37 * 130);
    CHECK(result.bytes_per_s.value_or(0) > 0);
    if (result.layout == "broadcast") continue;
    CHECK(result.digest == results[result.kernel == "mul" ? 0 : 6].digest);
  }
  CHECK(results[0].id == "mul.f16.37x130@" + device.id());
  CHECK(results[1].id == "mul.f16.37x130.transposed@" + device.id());
  CHECK(*results[0].bytes_per_s * *results[0].median_s == doctest::Approx(3 * 2 * 37 * 130));
  options.shape = {70001};  // longer than the period of the data
  options.layouts = {"packed", "broadcast"};
  for (const KernelResult& result : run_kernels(options, device)) {
    CHECK(to_string(result.status) == "ok");
    CHECK(result.checked == 2 * 70001);
  }
}

TEST_CASE("every operation is right at a shape larger than the data that repeats") {
  Platforms platforms;
  const Device device = test::device(platforms);
  KernelBenchOptions options;
  options.names = {"ops"};
  options.dtypes = {"f32"};
  options.shape = {150, 70};
  options.layouts = {"packed", "transposed", "broadcast", "spread"};
  options.samples = 1;
  const auto results = run_kernels(options, device);
  CHECK(results.size() == 4 * operations().size());
  for (const KernelResult& result : results) {
    CAPTURE(result.id);
    CAPTURE(result.reason);
    const bool is_in_one_piece = result.kernel == "copy2d" || result.kernel == "attention";
    const bool has_no_form = is_in_one_piece && result.layout != "packed";
    CHECK(to_string(result.status) == (has_no_form ? "skipped" : "ok"));
  }
  options.names = {"sum"};
  options.dtypes = {"u8", "f16", "i64", "f64"};
  options.shape = {3, 2, 90001};
  for (const KernelResult& result : run_kernels(options, device)) {
    CAPTURE(result.id);
    CHECK(result.reason == "");
    CHECK(to_string(result.status) == "ok");
    CHECK(result.elements == 1);
    if (result.layout != "packed") continue;
    CHECK(*result.bytes_per_s * *result.median_s ==
          doctest::Approx(static_cast<double>(result.size_bytes)));
  }
}

TEST_CASE("a single wrong bit is found wherever it is, and given its place") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  struct Case {
    const char* name;
    const char* dtype;
    Dims shape;
    std::uint64_t at;  ///< of the result
    bool is_found = true;
  };
  for (const Case& test : {Case{"add", "u32", {150, 70}, 3},
                           {"add", "u32", {150, 70}, 150 * 70 - 1},
                           {"softmax", "f32", {150, 70}, 61 * 70},
                           {"transpose", "i16", {150, 5000}, 5000 * 150 - 1},
                           {"index_select", "f64", {150, 70}, 149 * 70},
                           {"argmax", "f32", {150, 70}, 149},
                           {"sum", "u32", {150, 70}, 0},
                           {"rand_uniform", "f32", {150, 70}, 60 * 70},
                           // No data of these repeats: calls are compared with each other.
                           {"rand_uniform", "f32", {150, 70}, 61 * 70, false}}) {
    CAPTURE(test.name);
    CAPTURE(test.at);
    const auto broken =
        altered(test.name, [&](OperationCase& call, std::span<const std::uint64_t>) {
          call.run = [run = call.run, &test](const Backend& backend, std::span<const Tensor> in,
                                             Tensor& out) {
            run(backend, in, out);
            backend.synchronize();
            const std::uint64_t place =
                (out.layout().start_offset() + test.at) * element_size_bytes(out.dtype());
            std::byte bits[1];
            copy_d2h_and_wait(bits, out.buffer().view(place, 1));
            bits[0] ^= std::byte{0x80};
            copy_h2d_and_wait(out.buffer().view(place, 1), bits);
          };
        });
    WorkContext context;
    context.dtype = test.dtype;
    context.shape = test.shape;
    context.layout = "packed";
    context.backend = [&] { return Backend::borrow_stream(stream); };
    const auto work = operation_work(device, context, broken[0]);
    work->reset();
    work->queue();
    const Comparison seen = work->check();
    CHECK(seen.wrong.has_value() == test.is_found);
    if (!seen.wrong) continue;
    CHECK(seen.wrong->first_index == test.at);
    CHECK(seen.wrong->count == 1);
    CHECK(seen.wrong->xor_bits == 0x80);
    CHECK(seen.wrong->reread_agrees);
  }
}

TEST_CASE("a size chooses the largest shape that fits, and none where it fits no shape") {
  Platforms platforms;
  const Device device = test::device(platforms);
  KernelBenchOptions options;
  options.names = {"softmax", "transpose", "row_bias"};
  options.dtypes = {"f32"};
  options.sizes_bytes = {3, 1000, 100'000};
  options.samples = 1;
  std::vector<std::string> found;
  for (const KernelResult& result : run_kernels(options, device)) {
    found.push_back(label_of(result) + " " +
                    (result.status == Status::ok ? result.shape : result.reason));
  }
  std::sort(found.begin(), found.end());
  const std::string less = " is too small for ";
  CHECK(found ==
        std::vector<std::string>{
            "row_bias.f32.1000B 1000 B" + less + "row_bias of f32",
            "row_bias.f32.3B 3 B" + less + "row_bias of f32", "row_bias.f32.96KiB 6x4096",
            "softmax.f32.1000B 250", "softmax.f32.3B 3 B" + less + "softmax of f32",
            "softmax.f32.96KiB 6x4096", "transpose.f32.1000B 1000 B" + less + "transpose of f32",
            "transpose.f32.3B 3 B" + less + "transpose of f32", "transpose.f32.96KiB 6x4096"});
}
