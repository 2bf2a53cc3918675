// SPDX-License-Identifier: MIT
#include "user_kernel/user_image.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "base/contains.hpp"
#include "base/file.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hip/rtc.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "user_kernel/cpu_compile.hpp"
#include "user_kernel/fatbin.hpp"
#include "user_kernel/image_bytes.hpp"
#include "user_kernel/signature.hpp"
#include "user_kernel/source_text.hpp"

namespace hiptool::user_kernel {
namespace {

namespace fs = std::filesystem;
using core::ImageKind;

constexpr const char* load_operation = "load kernel";
constexpr const char* accepted_files =
    "give an AMD code object or bundle, PTX, a cubin, a fat binary, or HIP or CUDA source";
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 32;

std::vector<std::byte> read_image_file(const fs::path& path) {
  const base::File file = base::File::open(path);
  if (file.size_bytes() > most_bytes) {
    throw Error(ErrorCode::input_failed, load_operation,
                path.string() + " is larger than 4 GiB, the limit for kernel images");
  }
  std::vector<std::byte> bytes(file.size_bytes());
  file.read_at(bytes, 0);
  return bytes;
}

bool is_text(const std::vector<std::byte>& bytes) { return !base::contains(bytes, std::byte{0}); }

[[noreturn]] void refuse(const fs::path& path, const std::string& why, std::string hint = {}) {
  throw Error(ErrorCode::input_failed, load_operation, path.string() + " " + why, std::move(hint));
}

std::vector<SourceKernel> kernels_in_source(const fs::path& path, const std::string& text) {
  std::vector<SourceKernel> kernels = list_source_kernels(text);
  if (kernels.empty()) {
    refuse(path, "is neither a kernel image nor source with a __global__ function", accepted_files);
  }
  return kernels;
}

/// The requested kernel with its namespaces and template arguments; empty if no kernel has the
/// name. Throws Error(invalid_argument) for a template without arguments.
std::string name_in_source(const fs::path& path, const std::vector<SourceKernel>& kernels,
                           const std::string& asked) {
  const SourceKernel* const meant =
      asked.empty() && kernels.size() == 1 ? &kernels.front() : find_source_kernel(kernels, asked);
  if (meant == nullptr) return {};
  const std::string arguments = template_arguments(asked);
  if (meant->is_template && arguments.empty()) {
    const std::string example = meant->instances.empty() ? "<float>" : meant->instances.front();
    throw Error(ErrorCode::invalid_argument, load_operation,
                path.string() + ": the kernel '" + meant->name + "' is a template",
                "name it with its types, such as --name '" + meant->name + example + "'");
  }
  return meant->name + arguments;
}

KernelInfo declared_kernel(const SourceKernel& kernel, const std::string& arguments) {
  return {kernel.name + arguments,
          parse_parameters(kernel.parameters, kernel.template_parameters, arguments),
          kernel.max_block_threads};
}

/// The explicit instantiation of the requested kernel, unless the source has one.
std::string instance_of(const std::vector<SourceKernel>& kernels, const std::string& name) {
  const SourceKernel* const kernel = find_source_kernel(kernels, name);
  const std::string arguments = template_arguments(name);
  if (kernel == nullptr || arguments.empty()) return {};
  const auto& made = kernel->instances;
  if (base::contains(made, arguments)) return {};
  return "\ntemplate __global__ decltype(" + name + ") " + name + ";\n";
}

/// The source for a run-time compiler, whose messages should name the user's file.
std::string with_file_name(const fs::path& path, const std::string& text) {
  std::string name = path.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return letter == '"' || letter == '\\'; }, '_');
  return "#line 1 \"" + name + "\"\n" + text;
}

UserImage from_source(const Device& device, const fs::path& path, const std::string& text,
                      const UserCompilers& compilers, const std::string& asked) {
  UserImage image;
  image.path = path;
  const std::vector<SourceKernel> kernels = kernels_in_source(path, text);
  const std::string name = name_in_source(path, kernels, asked);
  image.kernels.emplace();
  for (const SourceKernel& kernel : kernels) {
    const bool is_meant = find_source_kernel(kernels, name) == &kernel;
    image.kernels->push_back({is_meant ? name : kernel.name, {}});
    if (is_meant) image.declared = declared_kernel(kernel, template_arguments(name));
  }
  const std::string arch = device.info().arch;
  if (device.platform() == Platform::cpu) {
    image.description = "compiled by " + compilers.for_host.filename().string();
    return image;
  }
  if (arch.empty()) {
    throw Error(ErrorCode::unsupported, load_operation,
                path.string() + " is kernel source, and the architecture of " + device.id() +
                    " is unknown, so it cannot be compiled",
                "give a compiled image, or choose another device");
  }
  if (const auto& library = hip::find_rtc(device.platform()); library.api == nullptr) {
    throw Error(ErrorCode::unsupported, load_operation,
                path.string() + " is kernel source, and " + library.reason,
                "give a compiled image, or choose another device");
  }
  const kernel_store::CompileRequest request{
      device.platform(), arch, path.stem().string(),
      with_file_name(path, text) + instance_of(kernels, name), kernel_store::embedded_headers()};
  try {
    image.bytes = compilers.compile(request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::device) throw;
    throw Error(ErrorCode::input_failed, load_operation, path.string() + ": " + error.what(),
                error.hint().empty() ? hint_for_refused(text) : error.hint());
  }
  kernel_store::lower_ptx_to_driver(device, image.bytes);
  image.description = "compiled for " + arch;
  image.kernels = read_image_info(image.bytes).kernels;
  return image;
}

std::vector<KernelInfo> listed_source(const fs::path& path, const std::string& text) {
  std::vector<KernelInfo> listed;
  for (const SourceKernel& kernel : kernels_in_source(path, text)) {
    std::vector<std::string> instances = kernel.instances;
    if (instances.empty()) {
      instances.push_back(
          kernel.is_template ? example_template_arguments(kernel.template_parameters) : "");
    }
    for (const std::string& arguments : instances) {
      listed.push_back(declared_kernel(kernel, arguments));
    }
  }
  return listed;
}

std::string arch_words(std::string_view arch) {
  return arch.empty() ? "of unknown architecture" : std::string(arch);
}

/// The bundle's code object for that processor.
std::vector<std::byte> take_entry(const fs::path& path, const std::vector<std::byte>& bundle,
                                  const std::string& device, std::string_view arch) {
  std::string targets;
  for (const BundleEntry& entry : read_bundle(bundle)) {
    const std::string_view processor = processor_of(entry.target);
    if (processor == processor_of(arch)) return {entry.bytes.begin(), entry.bytes.end()};
    if (entry.bytes.empty()) continue;  // the entry of the host
    targets += (targets.empty() ? "" : ", ") + std::string(processor);
  }
  refuse(path, "has no code object for " + device + " (" + arch_words(arch) +
                   "); its targets: " + (targets.empty() ? "none" : targets));
}

void check_target(const fs::path& path, const Device& device, const ImageInfo& info,
                  std::string_view arch) {
  if (info.kind != ImageKind::amd_object || info.target.empty() || arch.empty()) return;
  const std::string_view target = info.target;
  if (target == processor_of(arch) || target.find("generic") != std::string_view::npos) return;
  refuse(path,
         "is a code object for " + info.target + "; " + device.id() + " is " + std::string(arch));
}

/// Describes the entry of a fat binary that the driver will choose for the device.
void describe_fatbin(const Device& device, std::string_view arch, UserImage& image) {
  const std::vector<FatbinEntry> entries = read_fatbin(image.bytes);
  const FatbinEntry* const chosen = choose_entry(entries, arch);
  if (chosen == nullptr) {
    refuse(image.path,
           "is a CUDA fat binary without an image for " + device.id() + " (" + std::string(arch) +
               "); it has " + describe(entries),
           "compile it with -gencode arch=compute_XY,code=compute_XY for XY no newer than the "
           "device");
  }
  image.description = "a CUDA fat binary's " + describe(*chosen);
  image.contents = describe(entries);
  image.kernels = kernels_of(entries, *chosen);
}

std::vector<ArgumentInfo> arguments_on_cpu(const hip::cpu::CpuKernel& kernel) {
  std::vector<ArgumentInfo> arguments;
  for (const hip::cpu::KernelArgument& one : kernel.arguments) {
    arguments.push_back(
        {one.size_bytes, one.is_pointer ? ArgumentKind::pointer : ArgumentKind::value});
  }
  return arguments;
}

/// What source or a mangled name says about the kernel's parameters.
void add_declared_types(const UserImage& image, const std::string& symbol, UserKernel& kernel) {
  std::vector<ArgumentInfo> declared = image.declared.arguments;
  if (image.declared.name.empty()) {
    declared = parameters_of_symbol(symbol).value_or(std::vector<ArgumentInfo>());
  }
  if (kernel.arguments) add_types(*kernel.arguments, declared);
}

UserKernel load_on_cpu(const Device& device, const UserImage& image, const std::string& name,
                       const UserCompilers& compilers) {
  const std::string registered =
      image.bytes.empty() ? compile_for_cpu(image.path, name, compilers.for_host, compilers.cancel)
                          : name;
  const auto cpu_bytes =
      std::as_bytes(std::span(hip::cpu::cpu_image.data(), hip::cpu::cpu_image.size()));
  UserKernel loaded{Kernel(Module(device, cpu_bytes, image.path.filename().string()), registered),
                    {}};
  const hip::cpu::CpuKernel* const kernel = hip::cpu::find_kernel(registered);
  if (kernel != nullptr) loaded.arguments = arguments_on_cpu(*kernel);
  add_declared_types(image, name, loaded);
  return loaded;
}

}  // namespace

std::string plain_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr || !name.starts_with("_Z")) return name;
  std::string_view whole = text.get();
  constexpr std::string_view result = "void ";  // only templates have the result in their name
  if (whole.starts_with(result)) whole.remove_prefix(result.size());
  const std::string_view unnamed = "(anonymous namespace)::";
  std::string plain(whole);
  for (auto at = plain.find(unnamed); at != std::string::npos; at = plain.find(unnamed)) {
    plain.erase(at, unnamed.size());
  }
  return plain.substr(0, plain.find('('));
}

std::string find_user_kernel(const std::vector<KernelInfo>& kernels, const std::string& name) {
  for (const KernelInfo& kernel : kernels) {
    if (kernel.name == name) return name;
  }
  const std::string arguments = template_arguments(name);
  std::string found;
  for (const KernelInfo& kernel : kernels) {
    const std::string plain = plain_name(kernel.name);
    if (!arguments.empty() && template_arguments(plain) != arguments) continue;
    const std::vector<SourceKernel> candidate{{plain.substr(0, plain.find('<')), false, {}}};
    if (find_source_kernel(candidate, name) == nullptr) continue;
    if (!found.empty()) return {};  // ambiguous
    found = kernel.name;
  }
  return found;
}

ModuleListing list_module(const fs::path& path) {
  const std::vector<std::byte> bytes = read_image_file(path);
  const ImageKind kind = core::identify_image(bytes);
  if (kind == ImageKind::empty) refuse(path, "is empty", accepted_files);
  if (kind == ImageKind::unknown) {
    if (!is_text(bytes)) refuse(path, "is not a kernel image of a known kind", accepted_files);
    return {"kernel source", listed_source(path, std::string(text_of(bytes)))};
  }
  if (kind == ImageKind::other_object) refuse(path, "is an ELF object for another machine");
  ModuleListing listing{std::string(core::describe(kind)), {}};
  ImageInfo info;
  if (kind == ImageKind::amd_bundle) {
    std::string targets;
    for (const BundleEntry& entry : read_bundle(bytes)) {
      if (entry.bytes.empty()) continue;  // the entry of the host
      if (targets.empty()) info = read_image_info(entry.bytes);
      targets += (targets.empty() ? " for " : ", ") + std::string(processor_of(entry.target));
    }
    listing.description += targets;
  } else if (kind == ImageKind::fatbin) {
    const std::vector<FatbinEntry> entries = read_fatbin(bytes);
    for (const FatbinEntry& entry : entries) {
      if (!info.kernels && !entry.is_compressed) info.kernels = kernels_of(entries, entry);
    }
    listing.description += " of " + describe(entries);
  } else {
    info = read_image_info(bytes);
    if (!info.target.empty()) listing.description += " for " + info.target;
  }
  if (!info.kernels) {
    throw Error(ErrorCode::unsupported, load_operation,
                path.string() + " is " + listing.description +
                    ", whose kernels cannot be listed without a device",
                "name one with --name, and give --grid, --block and its arguments");
  }
  listing.kernels = std::move(*info.kernels);
  for (KernelInfo& kernel : listing.kernels) {
    const auto declared = parameters_of_symbol(kernel.name);
    if (declared) add_types(kernel.arguments, *declared);
    kernel.name = plain_name(kernel.name);
  }
  return listing;
}

UserImage read_user_image(const Device& device, const fs::path& path,
                          const UserCompilers& compilers, const std::string& name) {
  std::vector<std::byte> bytes = read_image_file(path);
  const ImageKind kind = core::identify_image(bytes);
  if (kind == ImageKind::empty) refuse(path, "is empty", accepted_files);
  if (kind == ImageKind::unknown) {
    if (!is_text(bytes)) refuse(path, "is not a kernel image of a known kind", accepted_files);
    return from_source(device, path, std::string(text_of(bytes)), compilers, name);
  }
  if (device.platform() == Platform::cpu && kind != ImageKind::cpu) {
    refuse(path,
           "is " + std::string(core::describe(kind)) + ", which " + device.id() + " does not run",
           "give HIP or CUDA source, or choose a GPU with --device");
  }
  const std::string arch = device.info().arch;
  core::check_image(bytes, device.platform(), device.id() + " (" + arch_words(arch) + ")",
                    path.string());
  if (kind == ImageKind::amd_bundle) bytes = take_entry(path, bytes, device.id(), arch);
  const ImageInfo info = read_image_info(bytes);
  check_target(path, device, info, arch);
  UserImage image;
  image.path = path;
  image.description = core::describe(kind);
  image.bytes = std::move(bytes);
  image.kernels = info.kernels;
  if (kind == ImageKind::fatbin && !arch.empty()) describe_fatbin(device, arch, image);
  return image;
}

UserKernel load_user_kernel(const Device& device, const UserImage& image, const std::string& name,
                            const UserCompilers& compilers) {
  std::string symbol = name;
  if (image.kernels) {
    symbol = find_user_kernel(*image.kernels, name);
    if (symbol.empty()) {
      throw Error(ErrorCode::not_found, load_operation,
                  image.path.string() + " has no kernel '" + name + "'");
    }
  }
  if (device.platform() == Platform::cpu) return load_on_cpu(device, image, symbol, compilers);
  UserKernel loaded{Kernel(Module(device, image.bytes, image.path.filename().string()), symbol),
                    {}};
  if (!image.kernels) return loaded;
  for (const KernelInfo& kernel : *image.kernels) {
    if (kernel.name == symbol) loaded.arguments = kernel.arguments;
  }
  add_declared_types(image, symbol, loaded);
  return loaded;
}

}  // namespace hiptool::user_kernel
