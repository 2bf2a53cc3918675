// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/sha256.hpp"
#include "buffer_bytes.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "small_model.hpp"
#include "unit/load/evict.hpp"
#include "unit/load/watched_device.hpp"
#include "waiting.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

using Names = std::vector<std::string>;

/// Remembers the phases and calls a function when one of them begins.
class PhaseObserver final : public LoadObserver {
 public:
  void on_phase(std::string_view name) noexcept override {
    begun.emplace_back(name);
    if (name == phase && on_begin) on_begin();
  }
  void on_progress(std::uint64_t done, std::uint64_t total) noexcept override {
    // From several threads, but only the last sum matters here.
    if (done == total) completed_bytes = total;
  }

  void on_waiting(std::span<const std::string> devices) noexcept override {
    if (waited_for.empty() || waited_for.back().first != begun.back())
      waited_for.push_back({begun.back(), {}});
    waited_for.back().second.emplace_back(devices.begin(), devices.end());
  }

  Names begun;
  std::vector<std::pair<std::string, std::vector<Names>>> waited_for;  ///< by phase
  std::string phase;
  std::function<void()> on_begin;
  std::atomic<std::uint64_t> completed_bytes{0};
};

Names names_of(const std::vector<LoadPhase>& phases) {
  Names names;
  for (const LoadPhase& phase : phases) names.emplace_back(phase.name);
  return names;
}

/// One F32 tensor, whose values can be checked.
ModelFile float_model(const std::filesystem::path& path) {
  const std::vector<float> values(30'000, 1.5F);
  return ModelFile::open(test::write_small_model(path, {test::float_tensor("w", values)}));
}

struct LoadModelFixture : test::WatchedDevice {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  std::filesystem::path path = test::write_small_model(folder.path() / "m.safetensors", tensors);
  ModelFile model = ModelFile::open(path);
  PhaseObserver observer;
  LoadReport report;

  LoadOptions options(VerifyMode verify) {
    LoadOptions chosen;
    chosen.verify = verify;
    chosen.observer = observer;
    chosen.report = report;
    return chosen;
  }
  void check_weights(const LoadedModel& loaded) const {
    for (const test::SmallTensor& tensor : tensors) {
      CAPTURE(tensor.name);
      const Weight weight = loaded.weight(tensor.name);
      CHECK(test::bytes_of(weight.bytes) == tensor.bytes);
      CHECK(weight.type.name() == "U8");
      CHECK(weight.shape == std::vector<std::uint64_t>{tensor.bytes.size()});
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: phases are in order and every weight is correct") {
  struct Case {
    VerifyMode mode;
    Names phases;
    LoadStatus status;
  };
  const Names with_digests{"start", "allocate", "load", "digest", "verify"};
  for (const Case& one :
       {Case{VerifyMode::full, with_digests, LoadStatus::verified},
        Case{VerifyMode::fast, with_digests, LoadStatus::verified},
        Case{VerifyMode::readback, {"start", "allocate", "load", "verify"}, LoadStatus::verified},
        Case{VerifyMode::none, {"start", "allocate", "load"}, LoadStatus::loaded}}) {
    CAPTURE(to_string(one.mode));
    report = {};
    observer.begun.clear();
    const LoadedModel loaded = load_model(model, device, options(one.mode));
    CHECK(names_of(report.phases) == one.phases);
    Names begun = one.phases;  // "verify" after digests is told from "digest" only afterwards
    if (one.phases == with_digests) begun.pop_back();
    CHECK(observer.begun == begun);
    CHECK(report.status == one.status);
    CHECK(report.verify_mode == one.mode);
    CHECK(report.is_read_back == (one.mode == VerifyMode::readback));
    CHECK(report.done_bytes == model.tensor_bytes());
    CHECK(observer.completed_bytes == model.tensor_bytes());
    REQUIRE(report.verdict_time_s.has_value());
    for (std::size_t i = 0; i < report.phases.size(); ++i) {
      const double end_s = report.phases[i].start_s + report.phases[i].duration_s;
      CHECK(report.phases[i].duration_s > 0);
      CHECK(end_s <= *report.verdict_time_s + 1e-9);
      if (i > 0) CHECK(report.phases[i].start_s >= report.phases[i - 1].start_s);
    }
    check_weights(loaded);
  }
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: unknown weights are named") {
  const LoadedModel loaded = load_model(model, device, options(VerifyMode::none));
  const auto hint_for = [&](const std::string& name) {
    try {
      static_cast<void>(loaded.weight(name));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::not_found);
      return std::string(error.hint());
    }
    return std::string("none");
  };
  CHECK(hint_for("blk.99.weight").find("hiptool inspect") != std::string::npos);
  const std::string known(tensors[0].name);
  CHECK(hint_for(known + "s") == "did you mean '" + known + "'?");
  Platforms::Options two;
  two.cpu_devices = 2;
  Platforms others(two);
  const Device other = others.devices(Platform::cpu)[1];
  CHECK(code_of([&] { static_cast<void>(loaded.weight(tensors[0].name, other)); }) ==
        ErrorCode::not_found);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: copies of a weight are found by their device") {
  Platforms::Options two;
  two.cpu_devices = 2;
  Platforms platforms_of_two(two);
  const auto devices = platforms_of_two.devices(Platform::cpu);
  LoadOptions chosen = options(VerifyMode::full);
  chosen.split.kind = SplitKind::replicate;
  const LoadedModel loaded = load_model(model, devices, chosen);
  CHECK(report.status == LoadStatus::verified);
  for (const Device& one : devices) {
    const Weight weight = loaded.weight(tensors[7].name, one);
    CHECK(weight.bytes.device() == one);
    CHECK(test::bytes_of(weight.bytes) == tensors[7].bytes);
  }
  CHECK(loaded.weight(tensors[7].name).bytes.device() == devices[0]);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: of several devices those not done are named") {
  Platforms::Options two;
  two.cpu_devices = 2;
  Platforms platforms_of_two(two);
  const auto devices = platforms_of_two.devices(Platform::cpu);
  const Names all{devices[0].id(), devices[1].id()};
  struct Case {
    SplitKind split;
    VerifyMode mode;
    Names phases;  ///< in which both devices work
  };
  for (const Case& one :
       {Case{SplitKind::bytes, VerifyMode::full, {"allocate", "load", "digest"}},
        Case{SplitKind::replicate, VerifyMode::full, {"allocate", "digest"}},
        Case{SplitKind::replicate, VerifyMode::readback, {"allocate", "verify"}}}) {
    CAPTURE(to_string(one.mode));
    observer.waited_for.clear();
    LoadOptions chosen = options(one.mode);
    chosen.split.kind = one.split;
    static_cast<void>(load_model(model, devices, chosen));
    Names phases;
    for (const auto& [phase, waited_for] : observer.waited_for) {
      phases.push_back(phase);
      REQUIRE(waited_for.size() == 2);
      if (phase == "verify") {
        CHECK(waited_for == std::vector<Names>{{all[0]}, {all[1]}});
      } else {
        const bool is_first_left = waited_for[0] == Names{all[0]};
        CHECK((is_first_left || waited_for[0] == Names{all[1]}));
        CHECK(waited_for[1].empty());
      }
    }
    CHECK(phases == one.phases);
  }
  observer.waited_for.clear();
  static_cast<void>(load_model(model, device, options(VerifyMode::full)));
  CHECK(observer.waited_for.empty());
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: memory and streams of the caller are used") {
  const LoadPlan plan = plan_load(model, std::span(&device, 1));
  const Buffer memory(device, plan.devices[0].layout.arena_bytes);
  const Stream stream(device);
  LoadOptions chosen = options(VerifyMode::full);
  chosen.arenas = {memory};
  chosen.streams = {stream};
  const auto allocated = table.count("hipMalloc");
  const LoadedModel loaded = load_model(model, device, chosen);
  // The digests of the blocks and the table of the tensors; no arena.
  CHECK(table.count("hipMalloc") == allocated + 2);
  CHECK(loaded.arenas()[0].address() == memory.address());
  check_weights(loaded);
  chosen.arenas = {memory.view(0, memory.size_bytes() - 1)};
  CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
        ErrorCode::out_of_bounds);
  chosen.arenas = {memory, memory};
  CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: a device without a kernel is read back") {
  Platforms gpus = core::make_platforms({}, std::make_shared<test::NoImageBinder>());
  const Device gpu = gpus.devices(Platform::nvidia).at(0);
  const LoadedModel loaded = load_model(model, gpu, options(VerifyMode::full));
  CHECK(report.status == LoadStatus::verified);
  CHECK(report.verify_mode == VerifyMode::readback);
  CHECK(report.is_read_back);
  CHECK_FALSE(report.verify_note.empty());
  CHECK(names_of(report.phases) == Names{"start", "allocate", "load", "verify"});
  check_weights(loaded);
  LoadOptions tested = options(VerifyMode::full);
  tested.self_test = true;
  CHECK(code_of([&] { static_cast<void>(load_model(model, gpu, tested)); }) ==
        ErrorCode::unsupported);
  CHECK(report.status == LoadStatus::failed);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: a self-test needs digests") {
  for (const VerifyMode mode : {VerifyMode::none, VerifyMode::readback}) {
    LoadOptions chosen = options(mode);
    chosen.self_test = true;
    CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
          ErrorCode::invalid_argument);
    CHECK(observer.begun.empty());
  }
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: a KV cache that cannot be planned is refused") {
  LoadOptions chosen = options(VerifyMode::none);
  chosen.context_tokens = 16;
  chosen.split = {SplitKind::proportions, {1}};
  CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
        ErrorCode::invalid_argument);
  chosen.split = {};
  chosen.arenas = {Buffer(device, 1u << 22)};
  CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
        ErrorCode::invalid_argument);
  chosen.arenas.clear();  // the small model does not describe its layers
  CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
        ErrorCode::input_failed);  // config.json is missing
  CHECK(observer.begun.empty());
}

TEST_CASE_FIXTURE(LoadModelFixture,
                  "load_model: other exceptions propagate and the load is marked as failed") {
  report.status = LoadStatus::verified;
  const OpenDevices fail = []() -> std::vector<Device> { throw std::runtime_error("no driver"); };
  CHECK_THROWS_AS(load_model(model, fail, 1, options(VerifyMode::full)), std::runtime_error);
  CHECK(report.status == LoadStatus::failed);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: cancelling in any phase leaks nothing") {
  static_cast<void>(
      load_model(model, device, options(VerifyMode::full)));  // what is made once is made now
  for (const char* phase : {"start", "allocate", "load", "digest", "values", "self-test"}) {
    CAPTURE(std::string(phase));
    report = {};
    const auto live = table.live();
    CancelToken cancel;
    LoadOptions chosen = options(VerifyMode::full);
    chosen.cancel = cancel;
    chosen.check_values = true;
    chosen.self_test = true;
    observer.phase = phase;
    observer.on_begin = [&] { cancel.cancel(); };
    CHECK(code_of([&] { static_cast<void>(load_model(model, device, chosen)); }) ==
          ErrorCode::cancelled);
    CHECK(report.status == LoadStatus::interrupted);
    CHECK(std::string(report.phases.back().name) != "");
    CHECK(table.live().device_memory == live.device_memory);
    CHECK(table.live().registrations == live.registrations);
    CHECK(table.live().streams == live.streams);
    CHECK(table.live().events == live.events);
  }
}

TEST_CASE_FIXTURE(LoadModelFixture,
                  "load_model: a failure in any phase is reported and leaks nothing") {
  const ModelFile floats = float_model(folder.path() / "f.safetensors");
  static_cast<void>(load_model(floats, device, options(VerifyMode::full)));
  struct Point {
    const char* phase;
    const char* call;
  };
  for (const Point& point :
       {Point{"start", "hipMemGetInfo"}, Point{"allocate", "hipMalloc"},
        Point{"load", "hipEventRecord"}, Point{"digest", "hipModuleLaunchKernel"},
        Point{"values", "hipModuleLaunchKernel"}}) {
    CAPTURE(std::string(point.phase));
    if (std::string(point.phase) == "load" && device.is_host_memory()) continue;  // no slots
    report = {};
    const auto live = table.live();
    LoadOptions chosen = options(VerifyMode::full);
    chosen.check_values = true;
    chosen.self_test = true;
    observer.phase = point.phase;
    observer.on_begin = [&] { table.fail(point.call, hip::hipErrorOutOfMemory); };
    CHECK(code_of([&] { static_cast<void>(load_model(floats, device, chosen)); }) ==
          ErrorCode::out_of_memory);
    table.reset();
    CHECK(report.status == LoadStatus::failed);
    REQUIRE_FALSE(report.phases.empty());
    CHECK(std::string(report.phases.back().name) == point.phase);
    CHECK(table.live().device_memory == live.device_memory);
    CHECK(table.live().registrations == live.registrations);
    CHECK(table.live().streams == live.streams);
    CHECK(table.live().events == live.events);
  }
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: damage is a result and its values are skipped") {
  LoadOptions chosen = options(VerifyMode::full);
  chosen.check_values = true;
  observer.phase = "digest";
  observer.on_begin = [&] { table.damage_largest(500); };
  const LoadedModel loaded = load_model(model, device, chosen);
  CHECK(report.status == LoadStatus::mismatch);
  REQUIRE(report.verification->mismatches.size() == 1);
  CHECK(report.verification->mismatches[0].device_offset == 500);
  CHECK_FALSE(report.values.has_value());
  CHECK(loaded.report().status == LoadStatus::mismatch);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: the second reader runs while devices are opened") {
  Timeline timeline;
  LoadOptions chosen = options(VerifyMode::full);
  chosen.timeline = timeline;
  int calls = 0;
  bool is_reading = false;
  const OpenDevices open_devices = [&] {
    ++calls;
    is_reading = test::comes_true([&] { return !timeline.spans().empty(); });
    return std::vector<Device>{device};
  };
  static_cast<void>(load_model(model, open_devices, 1, chosen));
  CHECK(calls == 1);
  CHECK(is_reading);
  CHECK(report.status == LoadStatus::verified);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: a disk is read while devices are opened") {
  for (const VerifyMode mode : {VerifyMode::automatic, VerifyMode::none}) {
    if (!test::evict(path)) return test::skip_case(test::no_cold_file);
    bool is_read = false;
    const OpenDevices open_devices = [&] {
      is_read = test::comes_true(
          [&] { return system::cached_bytes(path).value_or(0) >= model.file_bytes(); });
      return std::vector<Device>{device};
    };
    check_weights(load_model(model, open_devices, 1, options(mode)));
    CHECK(is_read);
    const LoadStatistics& statistics = report.statistics.value();
    CHECK(statistics.direct_bytes == 0);
    REQUIRE(statistics.read_notes.size() == 1);
    CHECK(statistics.read_notes[0].ends_with("while the driver started"));
  }
  // Not where the page cache is not to be used.
  if (!test::evict(path)) return test::skip_case(test::no_cold_file);
  Timeline timeline;
  LoadOptions direct = options(VerifyMode::fast);
  direct.read.mode = ReadMode::direct;
  direct.timeline = timeline;
  check_weights(load_model(
      model, [&] { return std::vector<Device>{device}; }, 1, direct));
  for (const Timeline::Span& span : timeline.spans()) CHECK(span.name != "read ahead");
  for (const std::string& note : report.statistics->read_notes) {
    CHECK_MESSAGE(!note.ends_with("while the driver started"), note);
  }
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: the second reader takes no readers from a load") {
  const auto large = test::write_small_model(folder.path() / "large.safetensors",
                                             {{"w", test::random_bytes(64U << 20, 3)}});
  const ModelFile cached = ModelFile::open(large);
  static_cast<void>(load_model(cached, device, options(VerifyMode::none)));
  const std::uint32_t readers = report.statistics->readers;
  // The device is open at once, so that nearly all is still to be read a second time.
  static_cast<void>(load_model(cached, device, options(VerifyMode::full)));
  CHECK(report.status == LoadStatus::verified);
  CHECK(report.statistics->readers == readers);
}

TEST_CASE_FIXTURE(LoadModelFixture, "load_model: a model without tensors opens no device") {
  const ModelFile empty =
      ModelFile::open(test::write_small_model(folder.path() / "e.safetensors", {}));
  const OpenDevices refuse = []() -> std::vector<Device> {
    FAIL("a device was opened for nothing");
    return {};
  };
  static_cast<void>(load_model(empty, refuse, 1, options(VerifyMode::automatic)));
  CHECK(report.status == LoadStatus::empty);
  CHECK_FALSE(report.plan.has_value());
  CHECK(code_of([&] {
          static_cast<void>(load_model(empty, refuse, 1, options(VerifyMode::automatic)).plan());
        }) == ErrorCode::not_found);
  const LoadedModel loaded = load_model(empty, device, options(VerifyMode::automatic));
  CHECK(loaded.report().status == LoadStatus::empty);
  CHECK(loaded.plan().devices.size() == 1);
}

TEST_CASE_FIXTURE(LoadModelFixture,
                  "load_model: a published SHA-256 is of the bytes on the device") {
  base::Sha256 hasher;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  hasher.add(std::as_bytes(std::span(bytes)));
  const std::string digest = hasher.hex_digest();
  CHECK(code_of([&] {
          static_cast<void>(load_model(model, device, options(VerifyMode::published)));
        }) == ErrorCode::invalid_argument);
  std::filesystem::create_directory(folder.path() / "blobs");
  for (const bool is_right : {true, false}) {
    CAPTURE(is_right);
    report = {};
    const std::string name = is_right ? digest : std::string(64, 'a');
    const auto blob = folder.path() / "blobs" / name;
    std::filesystem::copy_file(path, blob);
    const ModelFile published = ModelFile::open(blob);
    const auto load = [&] {
      static_cast<void>(load_model(published, device, options(VerifyMode::published)));
    };
    if (is_right) {
      load();
      CHECK(report.status == LoadStatus::verified);
    } else {
      CHECK(code_of(load) == ErrorCode::manifest_mismatch);
      CHECK(report.status == LoadStatus::failed);
    }
    // Whether reading or hashing was faster changes no name.
    CHECK(names_of(report.phases) ==
          Names{"start", "allocate", "load", "sha256", "digest", "verify"});
    REQUIRE(report.published.size() == 1);
    CHECK(report.published[0].found == digest);
    CHECK(report.published[0].published == name);
  }
}
