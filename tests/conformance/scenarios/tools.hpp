// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <future>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/error.hpp"
#include "hiptool/stream.hpp"
#include "support.hpp"

namespace hiptool::scenarios {

using test::random_bytes;
using Bytes = std::vector<std::byte>;

/// A wrong result.
class ScenarioFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How many checks of the functions below, which throw ScenarioFailed, this process has made.
std::size_t checks_made();

void expect(bool fact, std::string_view what);

/// Names the first byte that differs.
void expect_equal(std::span<const std::byte> found, std::span<const std::byte> expected,
                  std::string_view what);

/// Runs what must throw an Error of that code; with a native code where one is given. Other Errors
/// pass through.
void expect_error(ErrorCode code, int native_code, const std::function<void()>& function);
inline constexpr int no_native_code = 0;

/// All of a buffer, through a stream of its own.
Bytes read_back(const Buffer& buffer);

/// Waits for a stream at the end of a scope, come what may. To be declared after all that work on
/// the stream uses.
class Settled {
 public:
  explicit Settled(const StreamRef& stream) : stream_(stream) {}
  ~Settled();
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;

 private:
  StreamRef stream_;
};

/// Holds up a stream by a host function until it is opened, at the latest when it goes; to be
/// declared after the stream's Settled, which would wait for it.
class Gate {
 public:
  explicit Gate(const StreamRef& stream);
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open();

 private:
  std::promise<void> opened_;
  bool is_open_ = false;
};

/// Long enough to see that something does not happen, where it is not held up by mistake.
void pause();

}  // namespace hiptool::scenarios
