// SPDX-License-Identifier: MIT
#include "hiptool/module.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "core/call.hpp"
#include "core/device_names.hpp"
#include "core/image_check.hpp"
#include "core/module_state.hpp"

namespace hiptool {
namespace core {
namespace {

using hip::Api;

bool is_launch_blocking() {
  const char* value = std::getenv("HIP_LAUNCH_BLOCKING");
  return value != nullptr && std::string_view(value) != "0" && *value != '\0';
}

std::string arch_of(const Device& device) {
  const auto names = read_names(device);
  return names && !names->arch.empty() ? names->arch : "of unknown architecture";
}

/// The driver's compiler explains itself only into a buffer that it is given.
hip::hipError_t load_ptx(const Device& device, const void* image, hip::hipModule_t* module,
                         std::string& log) {
  constexpr auto log_buffer = static_cast<hip::hipJitOption>(5);
  constexpr auto log_buffer_bytes = static_cast<hip::hipJitOption>(6);
  std::array<char, 4096> text{};
  std::array options{log_buffer, log_buffer_bytes};
  std::array<void*, 2> values{text.data(), reinterpret_cast<void*>(text.size() - 1)};
  const hip::hipError_t error = core::api_of(device).hipModuleLoadDataEx(
      module, image, static_cast<unsigned>(options.size()), options.data(), values.data());
  log = text.data();
  while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
  return error;
}

void load(ModuleState& state, ImageKind kind, const std::string& arch) {
  const DeviceGuard guard(state.device);
  hip::hipModule_t module = nullptr;
  std::string log;
  const bool is_ptx = kind == ImageKind::ptx;
  const hip::hipError_t error =
      is_ptx ? load_ptx(state.device, state.memory.get(), &module, log)
             : core::api_of(state.device).hipModuleLoadData(&module, state.memory.get());
  if (error != hip::hipSuccess) {
    std::string subject(describe(kind));
    if (!state.name.empty()) subject += " '" + state.name + "'";
    std::string detail = "the device is " + arch;
    if (!log.empty()) detail += "; " + log;
    throw call_error(state.device, is_ptx ? "hipModuleLoadDataEx" : "hipModuleLoadData", error,
                     subject, detail);
  }
  state.native = module;
  state.is_owned = true;
}

}  // namespace

void Unmap::operator()(void* address) const noexcept { munmap(address, mapped_bytes); }

ImageMemory copy_image(std::span<const std::byte> image) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t mapped_bytes = (image.size() / page_bytes + 1) * page_bytes;
  void* const mapped =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Error(ErrorCode::host_out_of_memory, "load module",
                "no memory for a kernel image of " + base::plain_count_of(image.size(), "byte"));
  }
  if (!image.empty()) std::memcpy(mapped, image.data(), image.size());
  return {mapped, Unmap{mapped_bytes}};
}

ModuleState::ModuleState(const Device& on, std::string image_name, ImageMemory image)
    : device(on),
      name(std::move(image_name)),
      memory(std::move(image)),
      limits(read_launch_limits(on)),
      is_blocking(is_launch_blocking()) {}

ModuleState::~ModuleState() {
  if (!is_owned) return;
  const QuietDeviceGuard guard(device);
  release<&Api::hipModuleUnload>(device, static_cast<hip::hipModule_t>(native));
}

}  // namespace core

Module::Module(std::shared_ptr<const core::ModuleState> state) : state_(std::move(state)) {}

const core::ModuleState& core::Access::state(const Module& module) noexcept {
  return *module.state_;
}

Module::Module(const Device& device, std::span<const std::byte> image, std::string name) {
  core::require_usable(device);
  const std::string arch = core::arch_of(device);
  core::check_image(image, device.platform(), device.id() + " (" + arch + ")", name);
  auto state =
      std::make_shared<core::ModuleState>(device, std::move(name), core::copy_image(image));
  core::load(*state, core::identify_image(image), arch);
  state_ = std::move(state);
}

Module Module::borrow_native(const Device& device, void* module, std::string name) {
  if (module == nullptr) {
    throw Error(ErrorCode::invalid_argument, "wrap module", "a null module is not accepted");
  }
  auto state = std::make_shared<core::ModuleState>(device, std::move(name), core::ImageMemory());
  state->native = module;
  return Module(std::move(state));
}

const Device& Module::device() const noexcept { return state_->device; }

const std::string& Module::name() const noexcept { return state_->name; }

void* Module::native_handle() const noexcept { return state_->native; }

}  // namespace hiptool
