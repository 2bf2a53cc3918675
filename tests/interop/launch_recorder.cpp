// SPDX-License-Identifier: MIT
#include "interop/launch_recorder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "hip/api.hpp"
#include "hip/cpu/kernel_table.hpp"

namespace hiptool::test {
namespace {

using hip::hipError_t;
using hip::hipFunction_t;
using hip::hipStream_t;

/// Functions of a table have no context argument, so there is one of these.
struct Recording {
  hip::Api inner{};
  hip::Api api{};
  std::map<std::uintptr_t, std::size_t> allocations;  // address to size
  std::map<hipFunction_t, std::string> names;
  std::ofstream launches;
  std::ofstream memory;
  std::map<std::string, std::size_t> stored;  // bytes that are in the file already, and where
  std::size_t stored_bytes = 0;
  std::string label;
  std::set<std::uintptr_t> tables;  // allocations in which addresses stand
  nlohmann::json bounds;
  unsigned most_blocks = 0;  // along x; 0: any
  std::size_t count = 0;
};
std::optional<Recording> recording;

using Allocation = std::pair<const std::uintptr_t, std::size_t>;

/// The allocation that this address lies in; null for other numbers. Its end counts as well: a
/// tensor without elements may be there.
const Allocation* find_allocation(std::uint64_t address) {
  auto next = recording->allocations.upper_bound(address);
  if (next == recording->allocations.begin()) return nullptr;
  const Allocation& found = *std::prev(next);
  return address - found.first <= found.second ? &found : nullptr;
}

std::string bytes_of_memory(const Allocation& allocation, hipStream_t stream) {
  std::string bytes(allocation.second, '\0');
  const hip::Api& inner = recording->inner;
  if (inner.hipMemcpyAsync(bytes.data(), reinterpret_cast<const void*>(allocation.first),
                           bytes.size(), hip::hipMemcpyDeviceToHost, stream) != hip::hipSuccess ||
      inner.hipStreamSynchronize(stream) != hip::hipSuccess) {
    throw std::runtime_error("memory of a launch cannot be read");
  }
  return bytes;
}

/// Its place in the file, which has equal bytes once.
std::size_t store(const std::string& bytes) {
  const auto [found, is_new] = recording->stored.try_emplace(bytes, recording->stored_bytes);
  if (is_new) {
    recording->memory << bytes;
    recording->stored_bytes += bytes.size();
  }
  return found->second;
}

/// Places of parts in the file: most of a large output is as it was.
nlohmann::json store_parts(const std::string& bytes) {
  constexpr std::size_t part_bytes = 65536;
  nlohmann::json places = nlohmann::json::array();
  for (std::size_t i = 0; i < bytes.size(); i += part_bytes) {
    places.push_back(store(bytes.substr(i, part_bytes)));
  }
  return places;
}

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] / 16];
    text += digits[bytes[i] % 16];
  }
  return text;
}

template <hipError_t (*hip::Api::*call)(void**, std::size_t)>
hipError_t allocate(void** pointer, std::size_t bytes) {
  const hipError_t error = (recording->inner.*call)(pointer, bytes);
  if (error == hip::hipSuccess && *pointer != nullptr) {
    recording->allocations[reinterpret_cast<std::uintptr_t>(*pointer)] = bytes;
  }
  return error;
}

hipError_t free_memory(void* pointer) {
  recording->allocations.erase(reinterpret_cast<std::uintptr_t>(pointer));
  recording->tables.erase(reinterpret_cast<std::uintptr_t>(pointer));
  return recording->inner.hipFree(pointer);
}

hipError_t get_function(hipFunction_t* function, hip::hipModule_t module, const char* name) {
  const hipError_t error = recording->inner.hipModuleGetFunction(function, module, name);
  if (error == hip::hipSuccess) recording->names[*function] = name;
  return error;
}

/// Arguments of a launch; addresses of memory are found inside structures too.
struct Arguments {
  nlohmann::json bytes = nlohmann::json::array();
  nlohmann::json pointers = nlohmann::json::array();
  std::vector<const Allocation*> memory;
};

Arguments read_arguments(const hip::cpu::CpuKernel& kernel, void** values) {
  Arguments result;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const hip::cpu::KernelArgument& argument = kernel.arguments[i];
    const auto* bytes = static_cast<const unsigned char*>(values[i]);
    result.bytes.push_back({argument.offset_bytes, hexadecimal(bytes, argument.size_bytes)});
    for (std::size_t place = 0; place + 8 <= argument.size_bytes; place += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + place, 8);
      const Allocation* const found = find_allocation(word);
      if (found == nullptr) {
        if (argument.is_pointer && word != 0) {
          throw std::runtime_error(std::string(kernel.name) + ": a pointer to unknown memory");
        }
        continue;
      }
      result.pointers.push_back(argument.offset_bytes + place);
      if (std::find(result.memory.begin(), result.memory.end(), found) == result.memory.end()) {
        result.memory.push_back(found);
      }
    }
  }
  return result;
}

/// Places of addresses in a table, whose memory is added.
nlohmann::json read_table(const std::string& bytes, std::vector<const Allocation*>& memory) {
  nlohmann::json pointers = nlohmann::json::array();
  for (std::size_t place = 0; place + 8 <= bytes.size(); place += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + place, 8);
    const Allocation* const found = find_allocation(word);
    if (found == nullptr) continue;
    pointers.push_back(place);
    if (std::find(memory.begin(), memory.end(), found) == memory.end()) memory.push_back(found);
  }
  return pointers;
}

hipError_t launch(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  hipStream_t stream, void** arguments, void** extra) {
  const hip::cpu::CpuKernel* const kernel = hip::cpu::find_kernel(recording->names.at(function));
  if (kernel == nullptr || arguments == nullptr) {
    throw std::runtime_error(recording->names.at(function) + ": arguments are not known");
  }
  Arguments found = read_arguments(*kernel, arguments);
  nlohmann::json memory = nlohmann::json::array();
  for (std::size_t i = 0; i < found.memory.size(); ++i) {
    const Allocation& allocation = *found.memory[i];
    const std::string bytes = bytes_of_memory(allocation, stream);
    nlohmann::json pointers = nlohmann::json::array();
    if (recording->tables.contains(allocation.first)) pointers = read_table(bytes, found.memory);
    memory.push_back({{"address", allocation.first},
                      {"size_bytes", allocation.second},
                      {"before", store_parts(bytes)},
                      {"pointers", pointers}});
  }
  if (recording->most_blocks != 0) grid_x = std::min(grid_x, recording->most_blocks);
  const hipError_t error =
      recording->inner.hipModuleLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
                                             block_z, shared_bytes, stream, arguments, extra);
  if (error != hip::hipSuccess) return error;
  for (std::size_t i = 0; i < found.memory.size(); ++i) {
    memory[i]["after"] = store_parts(bytes_of_memory(*found.memory[i], stream));
  }
  recording->launches
      << nlohmann::json{{"label", recording->label},        {"kernel", kernel->name},
                        {"grid", {grid_x, grid_y, grid_z}}, {"block", {block_x, block_y, block_z}},
                        {"shared_bytes", shared_bytes},     {"arguments", found.bytes},
                        {"pointers", found.pointers},       {"memory", memory},
                        {"bounds", recording->bounds}}
             .dump()
      << '\n';
  ++recording->count;
  return error;
}

class RecordingBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = inner_->bind(platform, request);
    if (platform != Platform::cpu || binding.api == nullptr) return binding;
    recording->inner = *binding.api;
    recording->api = *binding.api;
    recording->api.hipMalloc = &allocate<&hip::Api::hipMalloc>;
    recording->api.hipFree = &free_memory;
    recording->api.hipModuleGetFunction = &get_function;
    recording->api.hipModuleLaunchKernel = &launch;
    binding.api = &recording->api;
    return binding;
  }

 private:
  std::shared_ptr<hip::Binder> inner_ = hip::make_registry();
};

std::ofstream open(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw std::runtime_error(path + " cannot be written");
  file.exceptions(std::ios::failbit | std::ios::badbit);
  return file;
}

}  // namespace

LaunchRecorder::LaunchRecorder(const std::string& folder) {
  if (recording) throw std::logic_error("one recorder at a time");
  recording.emplace();
  recording->launches = open(folder + "/launches.jsonl");
  recording->memory = open(folder + "/memory.bin");
}

LaunchRecorder::~LaunchRecorder() { recording.reset(); }

std::shared_ptr<hip::Binder> LaunchRecorder::binder() const {
  return std::make_shared<RecordingBinder>();
}

void LaunchRecorder::set_label(const std::string& label) {
  recording->label = label;
  recording->bounds = nullptr;
  recording->most_blocks = 0;
}

void LaunchRecorder::set_bounds(const void* address, DType dtype,
                                const std::vector<Bounds>& bounds) {
  std::string bytes(bounds.size() * sizeof(Bounds), '\0');
  std::memcpy(bytes.data(), bounds.data(), bytes.size());
  recording->bounds = {{"address", reinterpret_cast<std::uintptr_t>(address)},
                       {"dtype", std::string(to_string(dtype))},
                       {"count", bounds.size()},
                       {"at", store(bytes)}};
}

void LaunchRecorder::follow(const void* table) {
  const Allocation* const found = find_allocation(reinterpret_cast<std::uintptr_t>(table));
  if (found == nullptr) throw std::runtime_error("a table in unknown memory");
  recording->tables.insert(found->first);
}

void LaunchRecorder::launch_first_blocks(unsigned count) { recording->most_blocks = count; }

std::size_t LaunchRecorder::launch_count() const { return recording->count; }

}  // namespace hiptool::test
