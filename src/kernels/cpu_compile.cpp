// SPDX-License-Identifier: MIT
#include "kernels/cpu_compile.hpp"

#include <hiptool_cpu_host.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <utility>

#include "base/dynamic_library.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "kernels/child_process.hpp"
#include "kernels/compile.hpp"

namespace hiptool::kernels {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds compile_timeout{60};
constexpr const char* operation = "compile kernel";

/// The embedded headers, and what they are called in the folder that the compiler searches.
constexpr std::array headers{
    std::pair{"hip/hip_runtime.h", "hip/hip_runtime.h"},
    std::pair{"cpu/kernel.h", "hiptool_cpu_kernel.h"},
    std::pair{"cpu/host.h", "hiptool_cpu_host.h"},
    std::pair{"cpu/library.h", "hiptool_cpu_library.h"},
};

void write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(ErrorCode::output_failed, operation, path + ": could not be written");
}

void write_headers(const WorkFolder& folder) {
  fs::create_directory(folder.file("hip"));
  for (const auto& [name, file] : headers) {
    const std::string_view text = embedded_text(name);
    if (text.empty()) {
      throw Error(ErrorCode::internal, operation, std::string("no embedded text ") + name);
    }
    write_text(folder.file(file), text);
  }
}

/// As a C++ text between quotes.
std::string quoted(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    if (letter == '\n' || letter == '"') {
      throw Error(ErrorCode::invalid_argument, operation,
                  "the name of a source file must hold neither quotes nor line ends");
    }
    text += letter;
  }
  return '"' + text + '"';
}

std::string wrapper_text(const fs::path& source, const std::string& kernel) {
  return "#include \"hiptool_cpu_library.h\"\n#include " + quoted(fs::absolute(source).string()) +
         "\nextern \"C\" __attribute__((visibility(\"default\"))) void " +
         hiptool_cpu::open_library_name +
         "(\n    const hiptool_cpu::Host* host, hiptool_cpu::LoadedKernel* kernel) {\n" +
         "  hiptool_cpu::open_library<&::" + kernel + ">(host, kernel);\n}\n";
}

void compile(const WorkFolder& folder, const fs::path& source, const fs::path& compiler,
             const std::string& library) {
  const std::string log = folder.file("log");
  // -w: what the compiler merely remarks would bury what it refuses.
  const auto status = run_child({compiler.string(), "-std=c++17", "-O2", "-w", "-fPIC", "-shared",
                                 "-fvisibility=hidden", "-ffp-contract=off", "-Wl,-z,defs",
                                 "-I" + folder.file(""), "-o", library, folder.file("kernel.cpp")},
                                log, compile_timeout);
  if (!status) {
    throw Error(
        ErrorCode::timed_out, operation,
        compiler.string() + " was ended after " + std::to_string(compile_timeout.count()) + " s");
  }
  if (*status == 0) return;
  std::string message = source.string() + ": " + compiler.string() + " " + describe_end(*status);
  if (const std::string said = read_text(log); !said.empty()) message += "\n" + said;
  while (message.back() == '\n') message.pop_back();
  throw Error(ErrorCode::input_failed, operation, std::move(message));
}

void read_place(hiptool_cpu::Place* place) {
  *place = {hiptool_cpu::threadIdx, hiptool_cpu::blockIdx, hiptool_cpu::blockDim,
            hiptool_cpu::gridDim, hiptool_cpu::warpSize};
}

hiptool_cpu::LoadedKernel open(const std::string& library, const fs::path& source) {
  std::string failure;
  const auto loaded = base::DynamicLibrary::open(library, failure);
  const auto open_library =
      loaded ? loaded->function<hiptool_cpu::OpenLibrary>(hiptool_cpu::open_library_name) : nullptr;
  if (open_library == nullptr) {
    throw Error(ErrorCode::input_failed, operation,
                source.string() + ": the compiled kernel does not load: " + failure);
  }
  const hiptool_cpu::Host host{&read_place, &hiptool_cpu::wait_at_barrier, &hiptool_cpu::exchange,
                               &hiptool_cpu::lane, &hiptool_cpu::dynamic_shared};
  hiptool_cpu::LoadedKernel kernel{};
  open_library(&host, &kernel);
  return kernel;
}

std::string register_loaded(const std::string& kernel, const hiptool_cpu::LoadedKernel& loaded) {
  std::vector<hip::cpu::KernelArgument> arguments;
  for (std::size_t i = 0; i < loaded.argument_count; ++i) {
    const hiptool_cpu::Argument& argument = loaded.arguments[i];
    arguments.push_back({argument.offset_bytes, argument.size_bytes, argument.is_pointer});
  }
  std::string name = kernel;
  for (int number = 2; hip::cpu::find_kernel(name) != nullptr; ++number) {
    name = kernel + "." + std::to_string(number);
  }
  hip::cpu::register_kernel({name, arguments, loaded.run_thread});
  return name;
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// The text with comments and quoted texts turned into blanks.
std::string without_comments(std::string_view text) {
  std::string code(text);
  const auto blank = [&code](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, code.size()); ++i) code[i] = ' ';
  };
  const auto end_of = [text](std::string_view mark, std::size_t from) {
    const std::size_t at = text.find(mark, from);
    return at == std::string_view::npos ? text.size() : at + mark.size();
  };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      end = end_of("\n", i);
      blank(i, end);
    } else if (rest.starts_with("/*")) {
      end = end_of("*/", i + 2);
      blank(i, end);
    } else if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2u : 1u;
      blank(i, ++end);
    }
    i = end;
  }
  return code;
}

/// The last word before the argument list that begins at or after `start`; attributes in
/// parentheses, such as __launch_bounds__(256), come before it.
std::string function_name(std::string_view code, std::size_t start) {
  std::string word;
  for (std::size_t i = start; i < code.size(); ++i) {
    if (is_word(code[i])) {
      const std::size_t from = i;
      while (i + 1 < code.size() && is_word(code[i + 1])) ++i;
      word = code.substr(from, i + 1 - from);
    } else if (code[i] == '(') {
      if (word != "__launch_bounds__" && word != "__attribute__") return word;
      int depth = 0;
      for (; i < code.size(); ++i) {
        depth += code[i] == '(' ? 1 : code[i] == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      word.clear();
    } else if (code[i] == ';' || code[i] == '{' || code[i] == '#') {
      break;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> list_source_kernels(std::string_view text) {
  constexpr std::string_view mark = "__global__";
  const std::string code = without_comments(text);
  std::vector<std::string> names;
  for (auto at = code.find(mark); at != std::string::npos; at = code.find(mark, at + 1)) {
    const std::size_t after = at + mark.size();
    if ((at > 0 && is_word(code[at - 1])) || (after < code.size() && is_word(code[after]))) {
      continue;
    }
    std::string name = function_name(code, after);
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (!name.empty() && is_new) names.push_back(std::move(name));
  }
  return names;
}

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
                            const fs::path& compiler) {
  if (compiler.empty()) {
    throw Error(ErrorCode::unsupported, operation,
                source.string() + " is a kernel text, and no C++ compiler of the host was found",
                "install g++ or clang++, or choose a GPU with --device");
  }
  const WorkFolder folder;
  write_headers(folder);
  write_text(folder.file("kernel.cpp"), wrapper_text(source, kernel));
  const std::string library = folder.file("kernel.so");
  compile(folder, source, compiler, library);
  return register_loaded(kernel, open(library, source));
}

}  // namespace hiptool::kernels
