// SPDX-License-Identifier: MIT
#include "core/call.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support.hpp"

using namespace hiptool;

namespace {

// hipError_t of ROCm 5.0 to 7.2 and what only CUDA has (driver_types.h, hip_runtime_api.h, cuda.h).
const std::set<int> known_codes{
    1,   2,   3,   4,   5,   6,   7,   8,    9,    12,   13,  17,  21,  34,  35,  36,  46,
    52,  53,  98,  100, 101, 102, 200, 201,  202,  205,  206, 207, 208, 209, 210, 211, 212,
    213, 214, 215, 216, 217, 218, 219, 220,  221,  222,  223, 224, 225, 226, 300, 301, 302,
    303, 304, 400, 401, 402, 500, 600, 700,  701,  702,  703, 704, 705, 708, 709, 710, 711,
    712, 713, 714, 715, 716, 717, 718, 719,  720,  721,  800, 801, 802, 803, 804, 805, 806,
    807, 808, 809, 810, 811, 812, 900, 901,  902,  903,  904, 905, 906, 907, 908, 909, 910,
    911, 912, 913, 914, 915, 916, 999, 1052, 1053, 1054, 1055};

ErrorCode code_of(int native) { return core::error_code_of(static_cast<hip::hipError_t>(native)); }

}  // namespace

TEST_CASE("only out of memory, not ready and too many resources may be retried") {
  const std::set<int> recoverable{2, 600, 701};
  for (int native = 1; native <= 1'100; ++native) {
    CAPTURE(native);
    Platforms platforms;
    const Device device = platforms.devices(Platform::cpu).front();
    const Error error = core::call_error(device, "hipCall", static_cast<hip::hipError_t>(native));
    CHECK(error.is_recoverable() == recoverable.contains(native));
    CHECK(error.native()->code == native);
    CHECK(core::is_lost(device) == (error.code() == ErrorCode::device_lost));
  }
}

TEST_CASE("each native code is of one kind, and most are just errors of a device") {
  const std::set<int> lost{214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
  const std::set<int> unavailable{34, 35, 36, 46, 100, 802, 803};
  const std::set<int> image{200, 209, 218, 300, 301};
  for (const int native : known_codes) {
    CAPTURE(native);
    ErrorCode expected = ErrorCode::device;
    if (native == 2) expected = ErrorCode::out_of_memory;
    if (native == 500) expected = ErrorCode::not_found;
    if (native == 801) expected = ErrorCode::unsupported;
    if (lost.contains(native)) expected = ErrorCode::device_lost;
    if (unavailable.contains(native)) expected = ErrorCode::unavailable;
    if (image.contains(native)) expected = ErrorCode::input_failed;
    CHECK(code_of(native) == expected);
  }
}
