// SPDX-License-Identifier: MIT
#include "hiptool/async_loader.hpp"
#include "load/layout/blocks.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/verification.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/tools.hpp"
#include "small_model.hpp"
#include "unit/load/device_loader.hpp"

namespace hiptool::scenarios {
namespace {

struct SmallModel {
  test::TemporaryFolder folder;
  std::vector<test::SmallTensor> tensors;
  ModelFile model;
  ArenaLayout layout;

  SmallModel() : tensors(make_tensors()), model(open()), layout(lay_out(model)) {}

  static std::vector<test::SmallTensor> make_tensors() {
    std::vector<test::SmallTensor> made;
    for (const std::size_t size : {1u, 0u, 257u, 16'385u, 120'001u, 40'000u, 7u}) {
      made.push_back({"t" + std::to_string(made.size()), random_bytes(size, made.size())});
    }
    return made;
  }
  ModelFile open() const {
    return ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors));
  }
};

load::TransferOptions staged() {
  load::TransferOptions options;
  options.slot_bytes = 2 * load::block_bytes;
  options.readers = 2;
  options.slots = 3;
  options.always_stage = true;
  return options;
}

}  // namespace

void a_model_is_loaded(const Place& place) {
  const SmallModel small;
  Buffer arena(place.device(), small.layout.arena_bytes);
  test::DeviceLoader loader(place.device(), staged());
  loader.load(small.model, small.layout, arena);
  expect_equal(read_back(arena), test::expected_arena(small.tensors), "the loaded model");
  const VerifyResult result = load::verify_readback(small.model, small.layout, arena);
  expect(result.mismatch_count == 0, "what was read back equals the file");
  const Bytes more = random_bytes(100'000, 60);
  AsyncLoader::Options options;
  options.slot_bytes = 2 * load::block_bytes;
  options.slots = 3;
  AsyncLoader uploader(place.device(), options);
  uploader.upload(arena, more);
  uploader.synchronize();
  expect_equal(read_back(arena.view(0, more.size())), more, "an upload behind the load");
}

void a_model_is_verified_while_loading(const Place& place) {
  const SmallModel small;
  const LoadPlan plan = test::plan_of_one(place.device(), small.layout);
  for (const bool reads_twice : {true, false}) {
    const Buffer arena(place.device(), small.layout.arena_bytes);
    const auto files = reads_twice ? std::make_shared<load::FileDigests>(small.model) : nullptr;
    load::Verification verification(small.model, plan, std::span(&arena, 1), files);
    test::DeviceLoader loader(place.device(), staged());
    loader.load(small.model, small.layout, arena, &verification);
    const VerifyResult result = verification.finish();
    expect(result.mismatch_count == 0, "digests of the device equal those of the file");
    expect(result.compared_bytes == small.layout.tensor_bytes, "every byte was compared");
  }
}

}  // namespace hiptool::scenarios
