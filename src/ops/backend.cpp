// SPDX-License-Identifier: MIT
#include "hiptool/backend.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/images.hpp"
#include "kernel_store/iq_grids.hpp"
#include "ops/backend_kernels.hpp"
#include "ops/backend_state.hpp"
#include "ops/recording.hpp"

namespace hiptool {
namespace ops {

namespace {

/// Of NVIDIA's "sm_90" 90; 0 elsewhere.
unsigned capability_of(Platform platform, std::string_view arch) {
  constexpr std::string_view prefix = "sm_";
  if (platform != Platform::nvidia || !arch.starts_with(prefix)) return 0;
  return base::parse_number<unsigned>(arch.substr(prefix.size())).value_or(0);
}

}  // namespace

MatrixUnits matrix_units_of(Platform platform, std::string_view arch) {
  constexpr unsigned first_with_units = 80;
  if (platform == Platform::amd) {
    return kernel_store::has_image("ops_matmul_tile", platform, arch) ? MatrixUnits::warps
                                                                      : MatrixUnits::none;
  }
  if (capability_of(platform, arch) < first_with_units) return MatrixUnits::none;
  return kernel_store::has_image("ops_matmul_groups", platform, arch) ? MatrixUnits::groups
                                                                      : MatrixUnits::warps;
}

bool has_large_blocks_of(Platform platform, std::string_view arch) {
  const unsigned capability = capability_of(platform, arch);
  return capability >= 90 && capability < 110;
}

BackendState::BackendState(const Device& of, const StreamRef* borrowed,
                           const Backend::Options& chosen)
    : device(of),
      options(chosen),
      matrix_units(matrix_units_of(of.platform(), of.info().arch)),
      has_large_blocks(has_large_blocks_of(of.platform(), of.info().arch)),
      has_rings(of.platform() == Platform::nvidia &&
                kernel_store::has_image("ops_quantised_ring", of.platform(), of.info().arch)),
      multiprocessors(of.info().compute_units.value_or(1)),
      own_stream(borrowed != nullptr ? std::nullopt : std::make_optional<Stream>(of)),
      stream(borrowed != nullptr ? *borrowed : *own_stream),
      allocator(of),
      libraries(of, stream),
      loader_(of) {}

Kernel BackendState::kernel(std::string_view source, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second;
  return kernels_.emplace(name, Kernel(loader_.load(source).module, name)).first->second;
}

std::optional<Kernel> BackendState::kernel_if_taken(std::string_view source,
                                                    const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second;
  const auto* const loaded = loader_.load_if_taken(source);
  if (loaded == nullptr) return std::nullopt;
  return kernels_.emplace(name, Kernel(loaded->module, name)).first->second;
}

const void* BackendState::iq_grids() {
  const std::lock_guard lock(mutex_);
  if (!iq_grids_) {
    Buffer grids(device, kernel_store::iq_grids().size_bytes());
    copy_h2d_and_wait(grids, std::as_bytes(kernel_store::iq_grids()));
    iq_grids_ = grids;
  }
  return iq_grids_->address();
}

BackendState& state_of(const Backend& backend) noexcept { return BackendState::of(backend); }

Kernel kernel_of(const Backend& backend, std::string_view name) {
  return state_of(backend).find_kernel(name);
}

}  // namespace ops

namespace {

std::uint64_t part_of(std::uint64_t bytes, double share) {
  if (!(share > 0 && share <= 1)) {
    throw Error(ErrorCode::invalid_argument, "allocate",
                "a share of " + std::to_string(share) + " of the free memory",
                "choose more than 0, and at most 1");
  }
  return share == 1 ? bytes : static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

struct SharedBackends {
  std::mutex mutex;
  std::vector<Backend> backends;

  static SharedBackends& instance() {
    static auto* const all = new SharedBackends;  // device memory may outlive static destructors
    return *all;
  }
};

}  // namespace

Backend::Backend(const Device& device) : Backend(device, Options{}) {}

Backend::Backend(const Device& device, const Options& options)
    : state_(std::make_shared<ops::BackendState>(device, nullptr, options)) {}

Backend Backend::borrow_stream(const StreamRef& stream) { return borrow_stream(stream, Options{}); }

Backend Backend::borrow_stream(const StreamRef& stream, const Options& options) {
  static_cast<void>(core::native_of(stream));
  return Backend(std::make_shared<ops::BackendState>(stream.device(), &stream, options));
}

Backend Backend::shared(const Device& device) {
  SharedBackends& all = SharedBackends::instance();
  const std::lock_guard lock(all.mutex);
  for (const Backend& backend : all.backends) {
    if (backend.device() == device) return backend;
  }
  return all.backends.emplace_back(device);
}

bool Backend::gpu_available(Platforms& platforms) noexcept {
  try {
    return platforms.status(Platform::amd).usable || platforms.status(Platform::nvidia).usable;
  } catch (const std::exception&) {
    return false;
  }
}

const Device& Backend::device() const noexcept { return state_->device; }
const StreamRef& Backend::stream() const noexcept {
  const StreamRef* const recording = ops::RecordingScope::stream_of(*state_);
  return recording != nullptr ? *recording : state_->stream;
}
CachingAllocator& Backend::allocator() const noexcept { return state_->allocator; }

namespace {

TensorMemory memory_source(ops::BackendState& state) {
  if (ops::RecordingScope::stream_of(state) == nullptr) return {state.allocator, state.stream};
  throw Error(ErrorCode::unsupported, "allocate",
              "an operation takes new memory, which cannot be part of a graph");
}

}  // namespace

Tensor Backend::empty(DType dtype, std::span<const std::uint64_t> dims) const {
  return Tensor::empty(memory_source(*state_), dtype, dims);
}
Tensor Backend::empty(DType dtype, std::initializer_list<std::uint64_t> dims) const {
  return Tensor::empty(memory_source(*state_), dtype, dims);
}
Tensor Backend::zeros(DType dtype, std::span<const std::uint64_t> dims) const {
  return Tensor::zeros(memory_source(*state_), dtype, dims);
}
Tensor Backend::zeros(DType dtype, std::initializer_list<std::uint64_t> dims) const {
  return Tensor::zeros(memory_source(*state_), dtype, dims);
}

bool Backend::can_allocate(std::uint64_t size_bytes, double share) const {
  const std::uint64_t kept = allocator().statistics().cached_bytes;
  return size_bytes <= part_of(device().memory().free_bytes + kept, share);
}

Buffer Backend::allocate_within(std::uint64_t size_bytes, double share) {
  MemoryInfo memory = device().memory();
  if (size_bytes > part_of(memory.free_bytes, share)) {
    allocator().release_cached();
    memory = device().memory();
  }
  const std::uint64_t most = part_of(memory.free_bytes, share);
  if (size_bytes > most) {
    throw Error(ErrorCode::out_of_memory, "allocate",
                format_size(size_bytes) + " on " + device().id() + " exceed " + format_size(most) +
                    ", " + format_share(share) + " of the " + format_size(memory.free_bytes) +
                    " that are free of " + format_size(memory.total_bytes),
                "free memory, or allow a larger share");
  }
  return allocator().allocate(size_bytes, stream());
}

void Backend::set_seed(std::uint64_t seed) { state_->seed = seed; }

std::uint64_t Backend::next_seed() {
  constexpr std::uint64_t step = 0x9E3779B97F4A7C15;
  std::uint64_t number = state_->seed.fetch_add(step) + step;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9;
  number = (number ^ number >> 27) * 0x94D049BB133111EB;
  return number ^ number >> 31;
}

void Backend::synchronize() const {
  state_->stream.synchronize();
  state_->faults.report(state_->stream);
}

}  // namespace hiptool
