// SPDX-License-Identifier: MIT
#include "hostile.hpp"

#include <exception>
#include <numeric>

#include "small_model.hpp"

namespace hiptool::test {
namespace {

Platforms two_devices() {
  Platforms::Options options;
  options.cpu_devices = 2;
  return Platforms(options);
}

std::filesystem::path write_model(const std::filesystem::path& path) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 1.0F);
  return write_small_model(path, {float_tensor("w", values)});
}

Tensor taken_from(const Backend& backend) {
  Tensor tensor = backend.zeros(DType::f32, {4, 6});
  const Tensor taken = std::move(tensor);
  return tensor;  // NOLINT(bugprone-use-after-move): that is what is wanted
}

}  // namespace

Hostile::Hostile()
    : platforms(two_devices()),
      device(platforms.devices(Platform::cpu)[0]),
      other(platforms.devices(Platform::cpu)[1]),
      backend(device),
      stream(device),
      moved_stream(device),
      model_path(write_model(folder / "m.safetensors")),
      model(ModelFile::open(model_path)),
      loaded(load_model(model, device)),
      good(backend.zeros(DType::f32, {4, 6})),
      ids(backend.zeros(DType::u32, {4})),
      moved(taken_from(backend)),
      repeated(backend.zeros(DType::f32, {1}).with_layout(Layout({1}).broadcast_to({huge}))),
      out(backend.zeros(DType::f32, {4, 6})) {
  const Stream taken = std::move(moved_stream);
  const Backend far(other);
  tensors_ = {
      {"moved", moved},
      {"repeated", repeated},
      {"repeated matrix",
       repeated.with_layout(Layout({1}).broadcast_to({std::uint64_t{1} << 31, 1u << 30}))},
      {"repeated images",
       repeated.with_layout(Layout({1}).broadcast_to({1u << 15, 1u << 15, 1u << 15, 1u << 15}))},
      {"elsewhere", far.zeros(DType::f32, {4, 6})},
      {"i8", backend.zeros(DType::i8, {4, 6})},
      {"scalar", backend.zeros(DType::f32, std::initializer_list<std::uint64_t>{})},
      {"none", backend.zeros(DType::f32, {0, 6})},
      {"none of many", backend.zeros(DType::f32, {most / 8, 0, 2})},
      {"eight axes", backend.zeros(DType::f64, {1, 1, 1, 1, 1, 1, 1, 2})},
      {"integers", backend.zeros(DType::i64, {4, 6})},
      {"images", backend.zeros(DType::f16, {1, 2, 3, 4})}};
}

void Hostile::run(const std::string& name, const std::function<void()>& work) {
  try {
    work();
    backend.synchronize();
    ++successes_;
  } catch (const Error& error) {
    // An "internal" error would be a defect that somebody forgot to give a code.
    if (error.code() == ErrorCode::internal) findings_.push_back(name + ": " + error.what());
    ++errors_;
  } catch (const std::exception& error) {
    findings_.push_back(name + ": " + error.what());
  } catch (...) {
    findings_.push_back(name + ": not even a std::exception");
  }
}

void Hostile::call(const std::string& name, const std::function<void()>& work) {
  ++calls_[name];
  run(name, work);
}

void Hostile::each(const std::string& name, const std::function<void(const Tensor&)>& work) {
  ++calls_[name];
  for (const auto& [kind, tensor] : tensors_) {
    run(name + " of " + kind, [&, &tensor = tensor] { work(tensor); });
  }
}

void Hostile::into(const std::string& name, const std::function<void(Tensor&)>& work) {
  ++calls_[name];
  for (auto& [kind, tensor] : tensors_) {
    run(name + " into " + kind, [&, &tensor = tensor] { work(tensor); });
  }
}

}  // namespace hiptool::test
