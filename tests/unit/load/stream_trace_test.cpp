// SPDX-License-Identifier: MIT
#include "load/stream_trace.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/platform_state.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

constexpr float setback_ms = 588;

/// The cpu platform, where a device's clock is set back once its first event is recorded.
class SetBackBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform, const hip::BindRequest& request) override {
    hip::Binding binding = hip::bind_cpu(request);
    inner = binding.api;
    first = nullptr;
    api = *inner;
    api.hipEventRecord = [](hip::hipEvent_t event, hip::hipStream_t stream) {
      hip::hipEvent_t none = nullptr;
      first.compare_exchange_strong(none, event);
      return inner->hipEventRecord(event, stream);
    };
    api.hipEventElapsedTime = [](float* milliseconds, hip::hipEvent_t start, hip::hipEvent_t stop) {
      const hip::hipError_t result = inner->hipEventElapsedTime(milliseconds, start, stop);
      if (start == first) *milliseconds -= setback_ms;
      if (stop == first) *milliseconds += setback_ms;
      return result;
    };
    binding.api = &api;
    return binding;
  }

 private:
  // Functions of a table have no context.
  static inline const hip::Api* inner = nullptr;
  static inline hip::Api api;
  static inline std::atomic<hip::hipEvent_t> first{nullptr};
};

struct TraceFixture {
  // What the trace knows of copies, of which each span must be within the host's own times.
  void check_copies(int count) {
    const auto before = Timeline::Clock::now();
    for (int i = 0; i < count; ++i) {
      const std::size_t piece = trace.begin(0, "copy", bytes.size());
      copy_h2d(buffer, bytes, stream);
      trace.end(piece);
    }
    const std::size_t earlier = timeline.spans().size();
    trace.finish();
    const auto after = Timeline::Clock::now();
    const std::vector<Timeline::Span> spans = timeline.spans();
    REQUIRE(spans.size() == earlier + static_cast<std::size_t>(count));
    for (std::size_t i = earlier; i < spans.size(); ++i) {
      CHECK(spans[i].begin >= before);
      CHECK(spans[i].end >= spans[i].begin);
      CHECK(spans[i].end <= after);
      CHECK(spans[i].size_bytes == bytes.size());
    }
  }

  Platforms platforms = core::make_platforms({}, std::make_shared<SetBackBinder>());
  Device device = platforms.devices(Platform::cpu).front();
  Stream stream{device};
  Buffer buffer{device, 8u << 20};
  std::vector<std::byte> bytes = std::vector<std::byte>(8u << 20);
  Timeline timeline;
  StreamTrace trace{timeline, {stream}, "copies"};
};

}  // namespace

TEST_CASE("stream trace: copies are where they were, also where the device's clock was set back") {
  TraceFixture fixture;
  Event first(fixture.device);
  first.record(fixture.stream);
  first.synchronize();
  fixture.check_copies(3);
  fixture.trace.finish();
  fixture.check_copies(2);
  CHECK(fixture.timeline.tracks() == std::vector<std::string>{"cpu:0 copies 0"});
}
