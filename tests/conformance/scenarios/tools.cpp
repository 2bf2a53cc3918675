// SPDX-License-Identifier: MIT
#include "scenarios/tools.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "core/call.hpp"
#include "hiptool/copy.hpp"

namespace hiptool::scenarios {
namespace {

std::atomic<std::size_t> checks{0};

}  // namespace

std::size_t checks_made() { return checks; }

void expect(bool fact, std::string_view what) {
  ++checks;
  if (!fact) throw ScenarioFailed(std::string(what));
}

void expect_equal(std::span<const std::byte> found, std::span<const std::byte> expected,
                  std::string_view what) {
  ++checks;
  const auto [left, right] =
      std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  if (left == found.end() && right == expected.end()) return;
  throw ScenarioFailed(std::string(what) + ": differs at byte " +
                       std::to_string(left - found.begin()) + " of " +
                       std::to_string(expected.size()));
}

void expect_error(ErrorCode code, int native_code, const std::function<void()>& function) {
  ++checks;
  try {
    function();
  } catch (const Error& error) {
    const int native = error.native() ? error.native()->code : no_native_code;
    if (error.code() == code && native == native_code) return;
    throw;
  }
  throw ScenarioFailed("nothing was refused where " + std::string(to_string(code)) +
                       " was expected");
}

Bytes read_back(const Buffer& buffer) {
  Bytes bytes(buffer.size_bytes());
  copy_d2h_and_wait(bytes, buffer);
  return bytes;
}

Settled::~Settled() { core::settle(stream_); }

Gate::Gate(const StreamRef& stream) {
  constexpr std::chrono::seconds patience{20};
  stream.launch_host_function(
      [opened = opened_.get_future().share(), patience] { opened.wait_for(patience); });
}

void Gate::open() {
  if (!is_open_) opened_.set_value();
  is_open_ = true;
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

}  // namespace hiptool::scenarios
