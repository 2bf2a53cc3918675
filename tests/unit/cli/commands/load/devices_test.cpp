// SPDX-License-Identifier: MIT
/// `load` onto four GPUs, which are fakes over the cpu platform, with faults planted in one.
#include <doctest/doctest.h>

#include <functional>

#include "fakes/wrapper_table.hpp"
#include "harness.hpp"
#include "small_model.hpp"

using namespace hiptool;
using cli::testing::contains;
using test::WrapperTable;

namespace {

/// Wraps the platform of the GPUs; a plan is carried out on the table when it is bound.
class PlannedBinder final : public hip::Binder {
 public:
  using Plan = std::function<void(WrapperTable&)>;

  explicit PlannedBinder(Plan plan) : plan_(std::move(plan)) {}

  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = wrapper_.bind(platform, request);
    if (platform == Platform::nvidia && plan_) plan_(table());
    return binding;
  }
  WrapperTable& table() const { return *wrapper_.table(Platform::nvidia); }

 private:
  Plan plan_;
  test::WrapperBinder wrapper_{std::make_shared<cli::testing::FakeBinder>(4)};
};

struct Fixture {
  int run(const PlannedBinder::Plan& plan, std::vector<std::string> words = {}) {
    binder = std::make_shared<PlannedBinder>(plan);
    machine = std::make_unique<cli::testing::Machine>();
    machine->binder = binder;
    words.insert(words.begin(), {"load", path, "--device", "all", "--format", "json"});
    return machine->run(words);
  }
  const std::string& out() const { return machine->out.text; }

  test::TemporaryFolder folder;
  std::string path =
      test::write_small_model(folder.path() / "m.safetensors", test::various_tensors()).string();
  std::shared_ptr<PlannedBinder> binder;
  std::unique_ptr<cli::testing::Machine> machine;
};

bool names_a_gpu(const std::string& text) {
  for (const char* id : {"nvidia:0", "nvidia:1", "nvidia:2", "nvidia:3"}) {
    if (contains(text, id)) return true;
  }
  return false;
}

std::string error_message(const std::string& document) {
  const std::string key = "\"message\": \"";
  const auto start = document.find(key);
  if (start == std::string::npos) return {};
  return document.substr(start, document.find('\n', start) - start);
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "four GPUs are loaded, verified and left as they were") {
  for (const char* split : {"bytes", "layer", "1,2,3,4", "replicate"}) {
    for (const char* mode : {"full", "fast", "readback", "none"}) {
      CAPTURE(split);
      CAPTURE(mode);
      CHECK(run({}, {"--split", split, "--verify", mode}) == 0);
      CHECK(contains(out(), std::string(mode) == "none" ? "\"status\": \"loaded\""
                                                        : "\"status\": \"verified\""));
      CHECK(contains(out(), "\"id\": \"nvidia:3\""));
      CHECK(binder->table().live().is_empty());
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "each GPU's copies are rated, where there were any") {
  CHECK(run({}, {"--split", "replicate"}) == 0);
  CHECK(contains(out(), "\"copy_time_s\": "));
  CHECK_FALSE(contains(out(), "\"copy_time_s\": null"));
  CHECK_FALSE(contains(out(), "\"copy_bytes_per_s\": null"));
  CHECK(run({}, {"--split", "replicate", "--dry-run"}) == 0);
  CHECK(contains(out(), "\"id\": \"nvidia:3\""));
  CHECK(contains(out(), "\"copy_time_s\": null"));
  CHECK(contains(out(), "\"copy_bytes_per_s\": null"));
}

TEST_CASE_FIXTURE(Fixture,
                  "whichever call fails on one of four GPUs, it is named, nothing is left") {
  int failed = 0;
  for (const char* split : {"bytes", "replicate"}) {
    for (const char* call : {"hipMalloc", "hipHostRegister", "hipMemcpyAsync", "hipEventRecord",
                             "hipStreamWaitEvent", "hipMemcpyPeerAsync", "hipStreamCreateWithFlags",
                             "hipEventCreateWithFlags", "hipMemGetInfo"}) {
      for (const std::uint64_t nth : {1u, 2u, 4u, 7u}) {
        CAPTURE(split);
        CAPTURE(call);
        CAPTURE(nth);
        const int code =
            run([&](WrapperTable& table) { table.fail(call, hip::hipErrorUnknown, nth); },
                {"--split", split});
        CHECK(binder->table().live().is_empty());
        if (binder->table().count(call) < nth) continue;
        if (code == 0) continue;  // such as a slot that is pinned again
        ++failed;
        CHECK(code == 6);
        CHECK(contains(error_message(out()), call));
        CHECK(names_a_gpu(error_message(out())));
        CHECK(contains(out(), "\"status\": \"failed\""));
      }
    }
  }
  CHECK(failed > 20);
}

TEST_CASE_FIXTURE(Fixture, "a damaged copy is exit 5, with its device and tensor") {
  int found = 0;
  for (const char* split : {"bytes", "layer", "4,1,1,1", "replicate"}) {
    for (const std::uint64_t nth : {1u, 2u, 3u}) {
      CAPTURE(split);
      // Read back: a verification by digests copies its table, which could be the first copy.
      const int code = run([&](WrapperTable& table) { table.corrupt_copy(nth, 0); },
                           {"--split", split, "--verify", "readback"});
      if (code == 0) continue;  // it hit a gap between tensors
      ++found;
      CHECK(code == 5);
      CHECK(contains(out(), "\"status\": \"mismatch\""));
      CHECK(contains(out(), "\"tensor\": \"blk."));
      CHECK(contains(out(), "\"device\": \"nvidia:"));
      CHECK(contains(out(), "\"bytes\": 1"));
    }
  }
  CHECK(found >= 8);
}

TEST_CASE_FIXTURE(Fixture, "a GPU without memory is exit 3 and named") {
  const int code =
      run([](WrapperTable& table) { table.fail("hipMalloc", hip::hipErrorOutOfMemory, 3); });
  CHECK(code == 3);
  CHECK(names_a_gpu(error_message(out())));
}
