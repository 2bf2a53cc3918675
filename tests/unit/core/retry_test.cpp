// SPDX-License-Identifier: MIT
#include "hiptool/retry.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hip/api.hpp"
#include "hiptool/copy.hpp"
#include "support.hpp"
#include "waiting.hpp"
#include "wrapped_device.hpp"

using namespace hiptool;

namespace {

Error native_error(ErrorCode code, int native) {
  return Error({code, "hipCall", "hipCall failed", {}, NativeError{"cpu", native, "hipError"}});
}

}  // namespace

TEST_CASE("an allocation out of memory is tried three times more, after 10, 20 and 40 ms") {
  test::WrappedDevice wrapped;
  const auto start = std::chrono::steady_clock::now();
  const auto allocate = [&] { return Buffer(wrapped.device(), 4096); };
  SUBCASE("and succeeds when the third retry does") {
    wrapped.table().fail("hipMalloc", hip::hipErrorOutOfMemory, 1, 3);
    CHECK(with_retry(allocate).size_bytes() == 4096);
  }
  SUBCASE("and is thrown when that fails too") {
    wrapped.table().fail("hipMalloc", hip::hipErrorOutOfMemory, 1, 100);
    try {
      with_retry(allocate);
      FAIL("did not throw");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::out_of_memory);
      CHECK(error.native()->code == hip::hipErrorOutOfMemory);
    }
  }
  CHECK(wrapped.table().count("hipMalloc") == 4);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(70));
}

TEST_CASE("an illegal address is never tried again") {
  test::WrappedDevice wrapped;
  Buffer buffer(wrapped.device(), 16);
  const auto bytes = test::random_bytes(16, 1);
  wrapped.table().fail("hipMemcpyAsync", hip::hipErrorIllegalAddress);
  CHECK_THROWS_AS(with_retry([&] { copy_h2d_and_wait(buffer, bytes); }), Error);
  CHECK(wrapped.table().count("hipMemcpyAsync") == 1);
}

TEST_CASE("only errors that may pass are retried") {
  RetryPolicy quick;
  quick.first_delay_s = 0;
  struct Case {
    ErrorCode code;
    int native;
    int calls;
  };
  for (const Case& one : {Case{ErrorCode::out_of_memory, 2, 4}, Case{ErrorCode::device, 600, 4},
                          Case{ErrorCode::device, 701, 4}, Case{ErrorCode::device, 1, 1},
                          Case{ErrorCode::device_lost, 719, 1}, Case{ErrorCode::device, 999, 1}}) {
    CAPTURE(one.native);
    int calls = 0;
    const auto fail = [&] {
      ++calls;
      throw native_error(one.code, one.native);
    };
    CHECK_THROWS_AS(with_retry(fail, quick), Error);
    CHECK(calls == one.calls);
  }
  int calls = 0;
  const auto fail = [&] {
    ++calls;
    throw std::runtime_error("of someone else");
  };
  CHECK_THROWS_AS(with_retry(fail, quick), std::runtime_error);
  CHECK(calls == 1);
}

TEST_CASE("each delay is twice the one before, up to a second") {
  RetryPolicy policy;
  const auto delays = [&policy] {
    std::vector<double> list;
    for (int retry = 0; retry < 9; ++retry) list.push_back(retry_delay_s(policy, retry));
    return list;
  };
  CHECK(delays() == std::vector{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0});
  policy.first_delay_s = 5;
  CHECK(delays() == std::vector<double>(9, 5.0));
  CHECK(retry_delay_s(policy, 100'000) == 5.0);
}

TEST_CASE("without retries the first failure is thrown at once") {
  RetryPolicy policy;
  policy.max_retries = 0;
  policy.first_delay_s = 60;
  int calls = 0;
  const auto fail = [&] {
    ++calls;
    throw native_error(ErrorCode::out_of_memory, 2);
  };
  CHECK_THROWS_AS(with_retry(fail, policy), Error);
  CHECK(calls == 1);
}

TEST_CASE("caches are released after the delay and before the call") {
  RetryPolicy policy;
  std::vector<std::string> steps;
  const auto start = std::chrono::steady_clock::now();
  policy.before_retry = [&](const Error& error) {
    steps.emplace_back("release");
    CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(10));
    CHECK(error.code() == ErrorCode::out_of_memory);
  };
  int calls = 0;
  const int result = with_retry(
      [&] {
        steps.emplace_back("call");
        if (++calls == 1) throw native_error(ErrorCode::out_of_memory, 2);
        return 7;
      },
      policy);
  CHECK(result == 7);
  CHECK(steps == std::vector<std::string>{"call", "release", "call"});
}

TEST_CASE("a cancelled retry calls no more") {
  CancelToken cancel;
  RetryPolicy policy;
  policy.cancel = cancel;
  policy.first_delay_s = 3600;
  int calls = 0;
  const auto code_of = [&] {
    try {
      with_retry(
          [&] {
            ++calls;
            throw native_error(ErrorCode::out_of_memory, 2);
          },
          policy);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  std::jthread canceller([&] {
    test::become_idle();
    cancel.cancel();
  });
  CHECK(code_of() == ErrorCode::cancelled);  // out of a delay of an hour
  CHECK(calls == 1);
  CHECK(code_of() == ErrorCode::cancelled);  // before the first call
  CHECK(calls == 1);
}
