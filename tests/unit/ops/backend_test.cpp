// SPDX-License-Identifier: MIT
#include "hiptool/backend.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fakes/cpus_as_vendors.hpp"
#include "for_call.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/ops.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "kernel_store/images.hpp"
#include "ops/backend_state.hpp"
#include "ops/operands.hpp"
#include "support.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("sixteen threads share one Backend of a device, also after one could not be made") {
  {
    test::WrappedDevice wrapped;
    wrapped.table().fail("hipStreamCreateWithFlags", hip::hipErrorOutOfMemory);
    CHECK_THROWS_AS(Backend::shared(wrapped.device()), Error);
  }
  Platforms platforms;
  const Device device = test::device(platforms);
  std::vector<const ops::BackendState*> states(16);
  {
    std::vector<std::jthread> threads;
    for (const ops::BackendState*& state : states) {
      threads.emplace_back([&] { state = &ops::state_of(Backend::shared(device)); });
    }
  }
  for (const ops::BackendState* state : states) CHECK(state == states[0]);
}

TEST_CASE("matrix units are for devices that have them and that the build has their kernels for") {
  constexpr std::array<std::string_view, 10> with_units{"gfx942",  "gfx1100", "gfx1101", "gfx1102",
                                                        "gfx1103", "gfx1150", "gfx1151", "gfx1152",
                                                        "gfx1200", "gfx1201"};
  Platforms platforms;
  const Device device = test::device(platforms);
  const std::string arch = device.info().arch;
  CAPTURE(arch);
  auto units = ops::MatrixUnits::none;
  if (device.platform() == Platform::amd) {
    const bool has_units =
        std::ranges::find(with_units, arch.substr(0, arch.find(':'))) != with_units.end() &&
        kernel_store::has_image("ops_matmul", Platform::amd, arch);
    if (has_units) units = ops::MatrixUnits::warps;
  } else if (device.platform() == Platform::nvidia) {
    units = ops::matrix_units_of(Platform::nvidia, arch);
  }
  CHECK(ops::state_of(Backend(device)).matrix_units == units);
}

TEST_CASE("matrix units of four warps are those of compute capability 9.0 alone") {
  using ops::MatrixUnits;
  const auto units = [](std::string_view arch) {
    return ops::matrix_units_of(Platform::nvidia, arch);
  };
  for (const char* arch : {"sm_60", "sm_75", "sm_", "", "gfx90a", "90"}) {
    CAPTURE(arch);
    CHECK(units(arch) == MatrixUnits::none);
  }
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_103", "sm_120"}) {
    CAPTURE(arch);
    CHECK(units(arch) == MatrixUnits::warps);
  }
  const bool has_ptx = kernel_store::has_image("ops_matmul_tile", Platform::nvidia, "sm_90");
  CHECK(units("sm_90") == (has_ptx ? MatrixUnits::groups : MatrixUnits::warps));
  CHECK(ops::matrix_units_of(Platform::cpu, "x86_64") == MatrixUnits::none);
}

TEST_CASE("work goes to the caller's stream and waits behind what is queued there") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  const Backend backend = Backend::borrow_stream(stream);
  CHECK(backend.stream() == stream);
  const Tensor one = Tensor::from_host<float>(device, {1, 2, 3}, {3});
  Tensor sum = backend.zeros(DType::f32, {3});
  ops::add_into(backend, sum, one, one);  // loads the kernel
  backend.synchronize();
  test::Gate gate(stream);
  ops::mul_into(backend, sum, one, one);
  CHECK_FALSE(stream.is_done());
  gate.open();
  backend.synchronize();
  CHECK(sum.to_host<float>() == std::vector<float>{1, 4, 9});
}

TEST_CASE("errors come before the launch and name the operation and both operands") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor a = backend.zeros(DType::f32, {2, 3});
  Tensor b = backend.zeros(DType::f16, {2, 3});
  const Tensor c = backend.zeros(DType::f32, {3, 2});
  Tensor row = c.with_layout(Layout({1, 3}).broadcast_to({2, 3}));
  CHECK(message_of([&] { static_cast<void>(ops::add(backend, a, b)); }) ==
        "add: f32[2,3] and f16[2,3] have different types; cast one first");
  CHECK(message_of([&] { static_cast<void>(ops::lt(backend, a, c)); }) ==
        "lt: f32[2,3] and f32[3,2] have different shapes; broadcast_to() makes a layout fit");
  CHECK(message_of([&] { ops::add_into(backend, b, a, a); }) ==
        "add: the output is f16[2,3], and the result is f32[2,3]");
  CHECK(message_of([&] { ops::add_into(backend, row, a, a); }) ==
        "add: elements of the output f32[2,3] share memory (strides [0,1])");
  const Tensor whole = backend.zeros(DType::f32, {8});
  const auto part = [&](std::uint64_t start) {
    return whole.with_layout(whole.layout().narrow(0, start, 4));
  };
  CHECK(message_of([&] { ops::add_into(backend, test::for_call(part(2)), part(0), part(4)); }) ==
        "add: the output f32[4] overlaps the input f32[4]");
  ops::add_into(backend, test::for_call(part(0)), part(0), part(4));  // the input itself
  backend.synchronize();
}

TEST_CASE("what does not fit is refused before anything is launched") {
  // Of the cpu platform always: a vendor's compiler makes no kernels for the processor.
  test::WrappedDevice wrapped(std::make_shared<test::CpusAsVendors>(2), {}, "cpu:0");
  const Backend backend(wrapped.device());
  const std::string own_id = wrapped.device().id();
  const Device other_device = find_device(wrapped.platforms(), "cpu:1");
  REQUIRE(other_device != wrapped.device());
  const Tensor a = Tensor::empty(backend.device(), DType::f32, {4, 4});
  const Tensor u = Tensor::empty(backend.device(), DType::u32, {4, 4});
  const Tensor wide = Tensor::empty(backend.device(), DType::f32, {4, 5});
  Tensor away = Tensor::empty(other_device, DType::f32, {4, 4});
  const std::string elsewhere =
      "f32[4,4] is on " + other_device.id() + ", and the operation runs on " + own_id;
  const std::uint64_t launched = wrapped.table().count("hipModuleLaunchKernel");

  using Call = std::function<void(const Tensor& x, const Tensor& y)>;
  const std::vector<std::pair<std::string, Call>> calls{
      {"mul", [&](auto& x, auto& y) { static_cast<void>(ops::mul(backend, x, y)); }},
      {"ge", [&](auto& x, auto& y) { static_cast<void>(ops::ge(backend, x, y)); }},
      {"where", [&](auto& x, auto& y) { static_cast<void>(ops::where_cond(backend, u, x, y)); }},
      {"concat",
       [&](auto& x, auto& y) {
         static_cast<void>(ops::concat(backend, {x, y}, 0));
       }},
      {"gate",
       [&](auto& x, auto& y) { static_cast<void>(ops::gate(backend, ops::Gate::silu, x, y)); }},
      {"matmul", [&](auto& x, auto& y) { static_cast<void>(ops::matmul(backend, x, y)); }}};
  for (const auto& entry : calls) {
    const std::string& name = entry.first;
    const Call& call = entry.second;
    CAPTURE(name);
    CHECK(message_of([&] { call(a, away); }) == name + ": " + elsewhere);
    const std::string types = message_of([&] { call(a, u); });
    for (const std::string& part : {name, std::string("f32[4,4]"), std::string("u32[4,4]")}) {
      CHECK(types.find(part) != std::string::npos);
    }
    const std::string shapes = message_of([&] { call(a, wide.with_layout(Layout({5, 3}))); });
    CHECK(shapes.find("[5,3]") != std::string::npos);
  }
  CHECK(message_of([&] { static_cast<void>(ops::exp(backend, away)); }) == "exp: " + elsewhere);
  CHECK(message_of([&] { static_cast<void>(ops::sum(backend, away, {0})); }) ==
        "sum: " + elsewhere);
  CHECK(message_of([&] { ops::neg_into(backend, away, a); }) == "neg: " + elsewhere);
  CHECK(wrapped.table().count("hipModuleLaunchKernel") == launched);
  static_cast<void>(ops::mul(backend, a, a));
  CHECK(wrapped.table().count("hipModuleLaunchKernel") == launched + 1);
  backend.synchronize();
}

namespace {

/// Finds GPUs on no platform, or fails to look.
class NoGpus final : public hip::Binder {
 public:
  explicit NoGpus(bool throws) : throws_(throws) {}
  hip::Binding bind(Platform platform, const hip::BindRequest&) override {
    if (throws_) throw Error(ErrorCode::internal, "bind", "failed");
    hip::Binding binding;
    binding.status.platform = platform;
    binding.status.reason = "not installed";
    return binding;
  }

 private:
  bool throws_;
};

}  // namespace

TEST_CASE("gpu_available is true where a platform other than the processor has devices") {
  const auto is_available = [](std::shared_ptr<hip::Binder> binder) {
    Platforms platforms = core::make_platforms({}, std::move(binder));
    return Backend::gpu_available(platforms);
  };
  CHECK(is_available(std::make_shared<test::CpusAsVendors>(1)));
  CHECK_FALSE(is_available(std::make_shared<NoGpus>(false)));
  CHECK_FALSE(is_available(std::make_shared<NoGpus>(true)));
}

TEST_CASE(
    "with_retry releases cached memory before it calls again, after recoverable errors only") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto cached = [&] { return backend.allocator().statistics().cached_bytes; };
  static_cast<void>(backend.empty(DType::u8, {1 << 20}));  // is kept
  backend.synchronize();
  REQUIRE(cached() > 0);
  int calls = 0;
  const auto result = backend.with_retry([&] {
    if (++calls == 1) throw Error(ErrorCode::out_of_memory, "hipMalloc", "no memory");
    return cached();
  });
  CHECK(calls == 2);
  CHECK(result == 0);
  calls = 0;
  const auto failing = [&] {
    ++calls;
    throw Error(ErrorCode::invalid_argument, "add", "no");
  };
  CHECK(code_of([&] { backend.with_retry(failing); }) == ErrorCode::invalid_argument);
  CHECK(calls == 1);
}

TEST_CASE("places beyond 31 bits are found by 64-bit division") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  std::vector<std::int32_t> numbers(60);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  const Tensor whole = Tensor::from_host<std::int32_t>(backend.device(), numbers, {3, 4, 5});
  const Tensor turned = whole.with_layout(whole.layout().transpose(0, 2));
  const Tensor out = backend.zeros(DType::i32, {5, 4, 3});
  auto operands = ops::make_operands<3>({&turned, &turned, &out}, 4);
  CHECK(operands.is_wide == 0);
  operands.is_wide = 1;
  for (auto& divisor : operands.divisors) divisor = {};
  const Kernel kernel = ops::state_of(backend).kernel("ops_binary", "hiptool_binary_i32");
  ops::launch_elements(backend, kernel, 60, operands.run, std::uint32_t{0}, operands,
                       turned.address(), turned.address(), out.address());
  backend.synchronize();
  auto expected = turned.to_host<std::int32_t>();
  for (std::int32_t& number : expected) number *= 2;
  CHECK(out.to_host<std::int32_t>() == expected);
}

TEST_CASE("a tensor that is read without a stream has what was queued on its backend before") {
  test::WrappedDevice wrapped;
  const Backend backend(wrapped.device());
  const Tensor x = ops::fill(backend, DType::f32, {64}, 1.5);
  Tensor y = backend.zeros(DType::f32, {64});
  backend.synchronize();
  const auto gate = std::make_shared<test::Gate>(backend.stream());
  ops::affine_into(backend, y, x, 2, 0);
  // A reader that does not wait for the device reads zeros, as nothing else opens the gate.
  wrapped.table().run_before("hipDeviceSynchronize", [gate] { gate->open(); });
  const std::vector<float> read = y.to_host<float>();
  gate->open();
  CHECK(read == std::vector<float>(64, 3.0F));
}
