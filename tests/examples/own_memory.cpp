// SPDX-License-Identifier: MIT
/// Loads a model into device memory and onto a stream that belong to the caller, as an engine would
/// that has its own allocator: hiptool only borrows them.
///
/// Usage: own_memory MODEL [DEVICE]
#include <cstdint>
#include <cstdio>
#include <hiptool/hiptool.hpp>
#include <span>

namespace {

/// What an engine has of its own. In a program with HIP or CUDA these come from hipMalloc and
/// hipStreamCreateWithFlags, or cuMemAlloc and cuStreamCreate; here hiptool makes them, so that the
/// example needs neither.
struct Engine {
  Engine(const hiptool::Device& device, std::size_t size_bytes)
      : memory_owner(device, size_bytes),
        stream_owner(device),
        memory(memory_owner.native_handle()),
        stream(stream_owner.native_handle()) {}

  hiptool::Buffer memory_owner;
  hiptool::Stream stream_owner;
  void* memory;  ///< a hipDeviceptr_t or CUdeviceptr
  void* stream;  ///< a hipStream_t or CUstream
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  hiptool::Platforms platforms(hiptool::Platforms::Options::from_environment());
  const hiptool::Device device =
      argc > 2 ? hiptool::find_device(platforms, argv[2]) : hiptool::default_device(platforms);

  // The plan says how much memory the device needs, and where each tensor will lie in it.
  const auto model = hiptool::ModelFile::open(argv[1]);
  const hiptool::LoadPlan plan = hiptool::plan_load(model, std::span(&device, 1));
  const hiptool::ArenaLayout& layout = plan.devices.front().layout;

  const Engine engine(device, layout.arena_bytes);
  const auto arena = hiptool::Buffer::borrow_native(device, engine.memory, layout.arena_bytes);
  const auto stream = hiptool::StreamRef::borrow_native(device, engine.stream);

  // All copies go over the engine's stream, and all of them have arrived when load_model() returns.
  // Device memory is compared with a second, independent reading of the file.
  hiptool::LoadOptions options;
  options.verify = hiptool::VerifyMode::full;
  options.arenas = {arena};
  options.streams = {stream};
  const hiptool::LoadedModel loaded = hiptool::load_model(model, device, options);
  const hiptool::VerifyResult& result = *loaded.report().verification;

  for (const hiptool::Placement& placement : layout.placements) {
    const hiptool::TensorInfo& tensor = model.tensors()[placement.tensor];
    const hiptool::Buffer weights = loaded.weight(tensor.name).bytes;
    std::printf("%-24s %10ju bytes at %p\n", tensor.name.c_str(),
                std::uintmax_t{weights.size_bytes()}, weights.address());
  }
  std::printf("%zu tensors on %s, %ju blocks differ\n", model.tensors().size(), device.id().c_str(),
              std::uintmax_t{result.mismatch_count});
  return result.mismatch_count == 0 ? 0 : 1;
} catch (const hiptool::Error& error) {
  std::fprintf(stderr, "%s\n%s\n", error.what(), error.hint().c_str());
  return 1;
}
