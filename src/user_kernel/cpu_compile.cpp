// SPDX-License-Identifier: MIT
#include "user_kernel/cpu_compile.hpp"

#include <hiptool_cpu_host.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/dynamic_library.hpp"
#include "base/units.hpp"
#include "hip/cpu/kernel_settings.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/compile.hpp"
#include "system/child_process.hpp"
#include "user_kernel/elf.hpp"
#include "user_kernel/image_bytes.hpp"
#include "user_kernel/source_text.hpp"

namespace hiptool::user_kernel {
namespace {

namespace fs = std::filesystem;
using system::ChildRun;
using system::compiler_memory_bytes;
using system::read_text;
using system::WorkFolder;

constexpr std::chrono::seconds compile_timeout{60};
constexpr const char* operation = "compile kernel";

/// The embedded headers for the processor, and their names in the folder that the compiler
/// searches.
constexpr std::array cpu_headers{
    std::pair{"cpu/kernel.h", "hiptool_cpu_kernel.h"},
    std::pair{"cpu/host.h", "hiptool_cpu_host.h"},
    std::pair{"cpu/library.h", "hiptool_cpu_library.h"},
    std::pair{"cpu/user.h", "hiptool_cpu_user.h"},
    std::pair{"cpu/half.h", "hiptool_cpu_half.h"},
    std::pair{"cpu/groups.h", "hiptool_cpu_groups.h"},
};

/// Names of the vendors' headers that sources include; the host's compiler rejects the originals.
constexpr std::array vendor_headers{"cuda.h",
                                    "cuda_runtime.h",
                                    "cuda_runtime_api.h",
                                    "device_launch_parameters.h",
                                    "device_functions.h",
                                    "hip/hip_runtime_api.h"};
constexpr std::array half_headers{"cuda_fp16.h", "cuda_bf16.h", "hip/hip_fp16.h", "hip/hip_bf16.h",
                                  "hip/hip_bfloat16.h"};

constexpr std::array group_headers{"cooperative_groups.h", "cooperative_groups/reduce.h",
                                   "cooperative_groups/scan.h", "hip/hip_cooperative_groups.h"};

void write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(ErrorCode::output_failed, operation, path + ": could not be written");
}

void write_headers(const WorkFolder& folder) {
  for (const kernel_store::SourceHeader& header : kernel_store::embedded_headers()) {
    const std::string path = folder.file(header.name);
    fs::create_directories(fs::path(path).parent_path());
    write_text(path, header.text);
  }
  for (const auto& [name, file] : cpu_headers) {
    const std::string_view text = kernel_store::embedded_text(name);
    if (text.empty()) {
      throw Error(ErrorCode::internal, operation, std::string("no embedded text ") + name);
    }
    write_text(folder.file(file), text);
  }
  for (const char* name : vendor_headers) {
    write_text(folder.file(name), "#include <hip/hip_runtime.h>\n");
  }
  for (const char* name : half_headers) {
    write_text(folder.file(name), "#include <hiptool_cpu_half.h>\n");
  }
  fs::create_directories(folder.file("cooperative_groups"));
  for (const char* name : group_headers) {
    write_text(folder.file(name), "#include <hiptool_cpu_groups.h>\n");
  }
}

/// As a C++ string literal.
std::string quoted(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    if (letter == '\n') {
      throw Error(ErrorCode::invalid_argument, operation,
                  "the name of a source file must not hold line ends");
    }
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return '"' + text + '"';
}

std::string whole_text(const fs::path& source, const std::string& kernel) {
  return "#include \"hiptool_cpu_library.h\"\n#include \"hiptool_cpu_user.h\"\n#line 1 " +
         quoted(fs::absolute(source).string()) + "\n" +
         with_dynamic_shared(read_text(source.string())) + "\n#line 1 \"hiptool\"\n" +
         "extern \"C\" __attribute__((visibility(\"default\"))) void " +
         hiptool_cpu::open_library_name +
         "(\n    const hiptool_cpu::Host* host, hiptool_cpu::LoadedKernel* kernel) {\n" +
         "  hiptool_cpu::open_library<&::" + kernel + ">(host, kernel);\n}\n";
}

void compile(const WorkFolder& folder, const fs::path& source, const fs::path& compiler,
             const std::string& library, const CancelToken* cancel) {
  // -w: warnings would hide the errors. -fstack-clash-protection touches every page of a large
  // frame, so that no frame reaches past the guard page of the stack. Kernels move elements by
  // words of other types.
  const ChildRun child =
      system::run_child({compiler.string(),
                         "-std=c++17",
                         "-O2",
                         "-w",
                         "-fPIC",
                         "-shared",
                         "-fvisibility=hidden",
                         "-ffp-contract=off",
                         "-fno-strict-aliasing",
                         "-fstack-clash-protection",
                         "-ffunction-sections",
                         "-fdata-sections",
                         "-Wl,--gc-sections",
                         "-Wl,-z,defs",
                         "-Wl,--wrap=exit,--wrap=_exit,--wrap=_Exit,--wrap=quick_exit",
                         "-iquote",
                         fs::absolute(source).parent_path().string(),
                         "-I" + folder.file(""),
                         "-o",
                         library,
                         folder.file("kernel.cpp")},
                        folder, {compile_timeout}, cancel);
  if (!child.status) {
    throw Error(ErrorCode::timed_out, operation,
                source.string() + ": " + compiler.string() + " was ended after " +
                    std::to_string(compile_timeout.count()) + " s",
                "reduce the templates or tables that the kernel needs");
  }
  if (*child.status == 0) return;
  std::string message =
      source.string() + ": " + compiler.string() + " " + system::describe_end(*child.status);
  if (!child.output.empty()) message += "\n" + child.output;
  while (message.back() == '\n') message.pop_back();
  if (system::is_out_of_memory(child.output)) {
    throw Error(ErrorCode::host_out_of_memory, operation, std::move(message),
                "a compiler gets " + format_size(compiler_memory_bytes) +
                    " of memory; reduce the templates or tables that the kernel needs");
  }
  throw Error(ErrorCode::input_failed, operation, std::move(message),
              hint_for_refused(read_text(source.string()), child.output));
}

void read_place(hiptool_cpu::Place* place) {
  *place = {hiptool_cpu::threadIdx, hiptool_cpu::blockIdx, hiptool_cpu::blockDim,
            hiptool_cpu::gridDim, hiptool_cpu::warpSize};
}

std::atomic<KernelExit> kernel_exit{nullptr};

void end_program(int code) {
  if (const KernelExit handler = kernel_exit.load(); handler != nullptr) handler(code);
  std::abort();
}

// dlopen says "failed to map segment from shared object", but not why.
std::string hint_for_unloadable(const fs::path& folder) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0 || (status.f_flag & ST_NOEXEC) == 0) return {};
  return folder.parent_path().string() +
         " is mounted noexec, so that nothing in it can be executed: set TMPDIR to a folder of "
         "another file system, such as TMPDIR=$HOME";
}

hiptool_cpu::LoadedKernel open(const std::string& library, const fs::path& source) {
  std::string failure;
  const auto loaded = base::DynamicLibrary::open(library, failure);
  const auto open_library =
      loaded ? loaded->function<hiptool_cpu::OpenLibrary>(hiptool_cpu::open_library_name) : nullptr;
  if (open_library == nullptr) {
    throw Error(ErrorCode::input_failed, operation,
                source.string() + ": the compiled kernel does not load: " + failure,
                hint_for_unloadable(fs::path(library).parent_path()));
  }
  const hiptool_cpu::Host host{
      &read_place,        &hiptool_cpu::wait_at_barrier, &hiptool_cpu::exchange,
      &hiptool_cpu::lane, &hiptool_cpu::dynamic_shared,  &hiptool_cpu::join_lanes,
      &end_program};
  hiptool_cpu::LoadedKernel kernel{};
  open_library(&host, &kernel);
  return kernel;
}

/// Not the variables of hiptool_cpu such as threadIdx, nor the guards of initialisations.
bool is_shared_variable(std::string_view name) {
  return !name.starts_with("_ZN11hiptool_cpu") && !name.starts_with("_ZGV") &&
         name != "__tls_guard";
}

/// Bytes of the __shared__ variables in a linked library: its thread-local variables, without those
/// of hiptool_cpu_library.h. 0 where the file cannot be read.
std::uint64_t static_shared_bytes(const std::string& library) {
  const std::string file = read_text(library);
  std::uint64_t bytes = 0;
  try {
    const ElfSymbols symbols = read_elf_symbols(read_elf_sections(std::as_bytes(std::span(file))));
    for (const Elf64_Sym& entry : symbols.entries) {
      if (ELF64_ST_TYPE(entry.st_info) != STT_TLS || entry.st_shndx == SHN_UNDEF) continue;
      if (is_shared_variable(text_at(symbols.names, entry.st_name))) bytes += entry.st_size;
    }
  } catch (const Error&) {
    return 0;
  }
  return bytes;
}

/// Compilers for devices refuse such kernels as well.
void check_shared_bytes(const fs::path& source, const std::string& kernel, std::uint64_t bytes) {
  using hip::cpu::most_shared_bytes_per_block;
  using hip::cpu::shared_bytes_per_block;
  if (bytes <= shared_bytes_per_block) return;
  throw Error(ErrorCode::input_failed, operation,
              source.string() + ": the kernel '" + kernel + "' has " + std::to_string(bytes) +
                  " bytes of __shared__ variables; a block gets at most " +
                  std::to_string(shared_bytes_per_block),
              "declare them extern __shared__ and give their size with --shared, at most " +
                  format_size(most_shared_bytes_per_block));
}

std::string register_loaded(const std::string& kernel, const hiptool_cpu::LoadedKernel& loaded,
                            std::uint64_t shared_bytes) {
  std::vector<hip::cpu::KernelArgument> arguments;
  for (std::size_t i = 0; i < loaded.argument_count; ++i) {
    const hiptool_cpu::Argument& argument = loaded.arguments[i];
    arguments.push_back({argument.offset_bytes, argument.size_bytes, argument.is_pointer});
  }
  std::string name = kernel;
  for (int number = 2; hip::cpu::find_kernel(name) != nullptr; ++number) {
    name = kernel + "." + std::to_string(number);
  }
  hip::cpu::register_kernel({name, arguments, loaded.run_thread, shared_bytes});
  return name;
}

}  // namespace

fs::path find_host_compiler(std::string_view search_path) {
  for (const char* name : {"c++", "g++", "clang++"}) {
    for (std::size_t start = 0; start <= search_path.size();) {
      const std::size_t end = std::min(search_path.find(':', start), search_path.size());
      const fs::path file = fs::path(search_path.substr(start, end - start)) / name;
      if (file.is_absolute() && access(file.c_str(), X_OK) == 0) return file;
      start = end + 1;
    }
  }
  return {};
}

std::string compile_for_cpu(const fs::path& source, const std::string& kernel,
                            const fs::path& compiler, const CancelToken* cancel) {
  if (compiler.empty()) {
    throw Error(ErrorCode::unsupported, operation,
                source.string() + " is kernel source, and no C++ compiler was found on this host",
                "install g++ or clang++, or choose a GPU with --device");
  }
  const WorkFolder folder;
  write_headers(folder);
  write_text(folder.file("kernel.cpp"), whole_text(source, kernel));
  const std::string library = folder.file("kernel.so");
  compile(folder, source, compiler, library, cancel);
  const std::uint64_t shared_bytes = static_shared_bytes(library);
  check_shared_bytes(source, kernel, shared_bytes);
  return register_loaded(kernel, open(library, source), shared_bytes);
}

KernelExit set_kernel_exit(KernelExit handler) noexcept { return kernel_exit.exchange(handler); }

}  // namespace hiptool::user_kernel
