// SPDX-License-Identifier: MIT
/// Kernels that were compiled for this processor: a table of names that the compiled kernel sources
/// fill at start. Loading a module on the cpu platform means looking into it.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace hiptool::hip::cpu {

/// One argument of a kernel as the C ABI lays it out.
struct KernelArgument {
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
  bool is_pointer = false;
};

struct Dimensions {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

struct CpuKernel {
  std::string_view name;
  std::span<const KernelArgument> arguments;
  /// Runs the kernel's body for the thread that is current; `arguments` are addresses of values.
  void (*run_thread)(void* const* arguments) = nullptr;
  /// Of its __shared__ variables; 0 where unknown.
  std::size_t static_shared_bytes = 0;
};

/// A host function that does the whole launch at the machine's speed, instead of thread by thread.
using NativeKernel = void (*)(Dimensions grid, Dimensions block, void* const* arguments);

/// A compiled source's kernel, as it is known before main().
struct StaticKernel {
  const char* name;
  std::size_t argument_count;
  KernelArgument (*argument)(const void* table, std::size_t place);
  const void* table;
  void (*run_thread)(void* const* arguments);
};

/// Called before main() by each kernel of the compiled sources: takes no memory, so that nothing
/// can fail where no error could be reported. The kernels are registered when one is looked for.
void note_kernel(const StaticKernel& kernel) noexcept;

/// Throws std::logic_error for a name that is taken.
void register_kernel(const CpuKernel& kernel);
void register_native(std::string_view name, NativeKernel function);

/// The kernel, or null.
const CpuKernel* find_kernel(std::string_view name);
NativeKernel find_native(std::string_view name) noexcept;

/// The image that hipModuleLoadData takes on the cpu platform; there is only this one.
inline constexpr std::string_view cpu_image = "hiptool cpu kernels 1";

/// How launches run: natively where a kernel has a native function, or always on fibers (tests),
/// and with how many lanes a warp (32 or 64). For the process.
enum class KernelPath { native, fibers };
void set_kernel_path(KernelPath path) noexcept;
void set_warp_size(unsigned lanes);

}  // namespace hiptool::hip::cpu
