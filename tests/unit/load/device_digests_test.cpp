// SPDX-License-Identifier: MIT
#include "load/device_digests.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>

#include "fakes/wrapper_table.hpp"
#include "hiptool/async_loader.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/leaf_verification.hpp"
#include "small_model.hpp"

using namespace hiptool;

namespace {

using Reference = LeafVerification::Reference;

/// The cpu platform under the name of a GPU's, so that there is no image for its arch.
class ImagelessBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = hip::bind_cpu(request);
    binding.status.platform = platform;
    return binding;
  }
};

/// The device that the suite runs on, with a table around its own. The loader's own calls are made
/// on purpose before anything is counted.
struct Fixture {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors = test::various_tensors();
  ModelFile model =
      ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  ArenaLayout layout = lay_out(model);
  std::shared_ptr<test::WrapperBinder> binder =
      std::make_shared<test::WrapperBinder>(hip::make_registry());
  Platforms platforms{Platforms::Options::from_environment(), binder};
  Device device = test::device(platforms);
  test::WrapperTable& table = *binder->table(device.platform());

  AsyncLoader::Options staged() const {
    AsyncLoader::Options options;
    options.slot_bytes = 65'536;
    options.readers = 3;
    options.always_stage = true;
    return options;
  }
  /// The calls that load a module and that were made so far.
  std::uint64_t module_loads() const {
    return table.count("hipModuleLoadData") + table.count("hipModuleLoadDataEx");
  }
  void delay_module(std::chrono::milliseconds time) {
    table.delay("hipModuleLoadData", time);
    table.delay("hipModuleLoadDataEx", time);
  }
};

/// Chunks with leaves in them.
std::uint64_t count_chunks(const ModelFile& model, const ArenaLayout& layout, std::uint64_t most) {
  std::uint64_t count = 0;
  for (const load::Chunk& chunk : load::cut_chunks(model, layout, most)) {
    count += chunk.size_bytes() > 0;
  }
  return count;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a chunk is one launch at most, however many tensors are in it") {
  const Buffer arena(device, layout.arena_bytes);
  AsyncLoader loader(device, staged());
  LeafVerification verification(model, layout, arena, Reference::file);
  CHECK_FALSE(verification.image().empty());
  table.reset();
  loader.load(model, layout, arena, &verification);
  const std::uint64_t chunks = count_chunks(model, layout, 65'536);
  const auto before = table.count("hipModuleLaunchKernel");
  // On a GPU some chunks share a launch, and the last ones wait for the end.
  if (device.is_host_memory()) CHECK(before == chunks);
  CHECK(verification.finish().mismatch_count == 0);
  CHECK(table.count("hipModuleLaunchKernel") > chunks / 8);
  CHECK(table.count("hipModuleLaunchKernel") <= chunks);
}

TEST_CASE_FIXTURE(Fixture, "a kernel that takes long to load holds no load up") {
  const Buffer arena(device, layout.arena_bytes);
  for (const Reference reference : {Reference::file, Reference::slots}) {
    table.reset();
    delay_module(std::chrono::milliseconds(700));
    LeafVerification verification(model, layout, arena, reference);
    {
      AsyncLoader loader(device, staged());  // gone before the kernel comes, and its events with it
      loader.load(model, layout, arena, &verification);
      CHECK(table.count("hipModuleLaunchKernel") == 0);
    }
    const VerifyResult result = verification.finish();
    CHECK(result.mismatch_count == 0);
    CHECK(result.leaves > 0);
    CHECK(module_loads() == 1);
    // Neighbours that waited share a launch; a processor has several streams.
    const std::uint64_t chunks = count_chunks(model, layout, 65'536);
    if (!device.is_host_memory()) CHECK(table.count("hipModuleLaunchKernel") < chunks);
    CHECK(table.count("hipModuleLaunchKernel") <= chunks);
  }
}

TEST_CASE_FIXTURE(Fixture, "damage is found whenever the kernel comes") {
  const Buffer arena(device, layout.arena_bytes);
  for (const int delay_ms : {0, 700}) {
    table.reset();
    if (delay_ms > 0) delay_module(std::chrono::milliseconds(delay_ms));
    AsyncLoader loader(device, staged());
    LeafVerification verification(model, layout, arena, Reference::file);
    // The table of tensors is copied with the kernel: before the load, or long behind it.
    if (delay_ms == 0) verification.image();
    // A chunk begins with a tensor, and may hold no more than a few bytes and a gap.
    table.corrupt_copy(4, 0);
    loader.load(model, layout, arena, &verification);
    CHECK(verification.finish().mismatch_count == 1);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a kernel that cannot be loaded is an error of finish, not of the load") {
  const Buffer arena(device, layout.arena_bytes);
  const std::set<std::string> calls{"hipModuleLoadData", "hipModuleLoadDataEx"};
  table.reset();
  for (const std::string& call : calls) table.fail(call, hip::hipErrorInvalidImage);
  LeafVerification verification(model, layout, arena, Reference::slots);
  AsyncLoader loader(device, staged());
  CHECK(loader.load(model, layout, arena, &verification).read_bytes == layout.tensor_bytes);
  CHECK_THROWS_AS(verification.finish(), Error);
  CHECK_THROWS_AS(verification.image(), Error);
  CHECK_THROWS_AS(verification.recheck(), Error);
  CHECK(table.count("hipModuleLaunchKernel") == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "whichever call fails, it is an error or the right answer, and no leak") {
  const auto attempt = [&] {
    const Buffer arena(device, layout.arena_bytes);
    AsyncLoader loader(device, staged());
    LeafVerification verification(model, layout, arena, Reference::slots);
    loader.load(model, layout, arena, &verification);
    return verification.finish();
  };
  table.reset();
  attempt();
  const auto trace = table.trace();
  const std::set<std::string_view> calls(trace.begin(), trace.end());
  CHECK(calls.count("hipModuleLaunchKernel") == 1);
  int failed = 0;
  for (const std::string_view call : calls) {
    for (const std::uint64_t nth : {1u, 4u}) {
      CAPTURE(std::string(call));
      CAPTURE(nth);
      table.reset();
      table.fail(call, hip::hipErrorUnknown, nth);
      try {
        const VerifyResult result = attempt();
        CHECK(result.mismatch_count == 0);
      } catch (const Error& error) {
        ++failed;
        CHECK(error.code() != ErrorCode::internal);
      }
      CHECK(table.live().is_empty());
    }
  }
  CHECK(failed > 10);
}

TEST_CASE_FIXTURE(Fixture, "tensors may lie in another order than the file's") {
  ArenaLayout reversed;
  for (std::size_t i = model.tensors().size(); i-- > 0;) {
    const std::uint64_t offset = (reversed.arena_bytes + 255) / 256 * 256;
    reversed.placements.push_back({static_cast<std::uint32_t>(i), offset});
    reversed.arena_bytes = offset + model.tensors()[i].size_bytes;
    reversed.tensor_bytes += model.tensors()[i].size_bytes;
  }
  const Buffer arena(device, reversed.arena_bytes);
  AsyncLoader loader(device, staged());
  LeafVerification verification(model, reversed, arena, Reference::file);
  loader.load(model, reversed, arena, &verification);
  CHECK(verification.finish().mismatch_count == 0);
  CHECK(verification.recheck().mismatch_count == 0);
}

TEST_CASE_FIXTURE(Fixture, "no image and no compiler are known before the load") {
  Platforms others({}, std::make_shared<ImagelessBinder>());
  const Device other = others.devices(Platform::nvidia).at(0);
  const Buffer arena(other, layout.arena_bytes);
  try {
    LeafVerification verification(model, layout, arena, Reference::file);
    FAIL("a kernel came from nowhere");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
  }
}

TEST_CASE_FIXTURE(Fixture, "a second reader that started early serves several verifications") {
  const auto files = std::make_shared<FileDigests>(model);
  const auto digests = files->get();
  for (int i = 0; i < 2; ++i) {
    const Buffer arena(device, layout.arena_bytes);
    AsyncLoader loader(device, staged());
    LeafVerification verification(model, layout, arena, files);
    loader.load(model, layout, arena, &verification);
    const VerifyResult result = verification.finish();
    CHECK(result.mismatch_count == 0);
    CHECK(result.leaves == digests.size());
  }
  const auto path = test::write_small_model(folder.path() / "o.safetensors", {tensors[7]});
  const ModelFile other = ModelFile::open(path);
  const ArenaLayout other_layout = lay_out(other);
  const Buffer arena(device, other_layout.arena_bytes);
  LeafVerification verification(other, other_layout, arena, files);
  CHECK_THROWS_AS(verification.finish(), Error);
}
