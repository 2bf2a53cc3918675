// SPDX-License-Identifier: MIT
/// `run-kernel --module FILE` without a launch: the kernels of the file, and a command for each.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/commands/run_kernel/run_kernel.hpp"
#include "cli/document.hpp"
#include "hiptool/error.hpp"
#include "results/run_kernel/report.hpp"
#include "user_kernel/element_value.hpp"
#include "user_kernel/signature.hpp"
#include "user_kernel/user_image.hpp"

namespace hiptool::cli {
namespace {

using report::Value;
using user_kernel::ArgumentInfo;
using user_kernel::ArgumentKind;
using user_kernel::KernelInfo;

constexpr std::uint64_t example_elements = 1024;

/// Of 8 bytes, which images without types do not tell apart from a number.
bool may_be_pointer(const ArgumentInfo& info) {
  return info.kind == ArgumentKind::unknown && info.size_bytes == 8;
}

std::string example_value(const ArgumentInfo& info) {
  if (info.element) {
    const std::string type(user_kernel::to_string(*info.element));
    const bool is_count = !user_kernel::is_real(*info.element) && info.size_bytes >= 4;
    return fmt::format("{}:{}", type, is_count ? example_elements : 1);
  }
  switch (info.size_bytes) {
    case 1: return "u8:1";
    case 2: return "u16:1";
    case 4: return fmt::format("u32:{}", example_elements);
    case 8: return fmt::format("u64:{}", example_elements);
    default: break;
  }
  std::string zeros = "bytes:";
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(info.size_bytes, 1); ++i) zeros += "00";
  return zeros;
}

std::string example_argument(const ArgumentInfo& info) {
  if (info.kind != ArgumentKind::pointer && !may_be_pointer(info)) return example_value(info);
  // Elements of up to 16 bytes, where nothing says how large they are.
  if (!info.element) return fmt::format("buf:u8:{}:zeros", 16 * example_elements);
  return fmt::format("buf:{}:{}:{}", user_kernel::to_string(*info.element), example_elements,
                     info.is_const ? "iota" : "zeros");
}

/// For a shell.
std::string quoted_word(const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./:,+=@").find(letter) != std::string_view::npos;
  });
  if (is_plain && !word.empty()) return word;
  std::string text = "'";
  for (const char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

/// The words of the command; an option and its value are one.
std::vector<std::string> command_of(const std::string& file, const KernelInfo& kernel) {
  constexpr std::uint64_t usual_block = 256;
  const std::uint64_t most = kernel.max_block_threads == 0 ? usual_block : kernel.max_block_threads;
  const std::uint64_t block = std::min(usual_block, most);
  const std::uint64_t grid = (example_elements + block - 1) / block;
  std::vector<std::string> words{"hiptool run-kernel", "--module " + quoted_word(file),
                                 "--name " + quoted_word(kernel.name),
                                 fmt::format("--grid {}", grid), fmt::format("--block {}", block)};
  for (const ArgumentInfo& info : kernel.arguments)
    words.push_back("--arg " + example_argument(info));
  return words;
}

std::string joined_command(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// In lines for 80 columns, which a shell takes as one.
void add_command(const std::vector<std::string>& words, std::vector<report::Line>& notes) {
  constexpr std::size_t most_columns = 76;
  std::string line = " ";
  for (const std::string& word : words) {
    const bool is_full = line.size() + word.size() + 1 > most_columns;
    if (is_full && line.find_first_not_of(' ') != std::string::npos) {
      notes.push_back({report::Tone::plain, line + " \\"});
      line = "   ";
    }
    line += " " + word;
  }
  notes.push_back({report::Tone::plain, std::move(line)});
}

Value argument_value(const ArgumentInfo& info) {
  constexpr const char* kinds[] = {"unknown", "value", "pointer"};
  return report::Object{{"name", report::text_or_absent(info.name)},
                        {"type", report::text_or_absent(info.type)},
                        {"size_bytes", info.size_bytes == 0 ? Value() : Value(info.size_bytes)},
                        {"kind", kinds[static_cast<std::size_t>(info.kind)]}};
}

Value kernel_value(const KernelInfo& kernel, const std::string& command) {
  return report::Object{{"name", kernel.name},
                        {"arguments", report::array_of(kernel.arguments, argument_value)},
                        {"max_block_threads",
                         kernel.max_block_threads == 0 ? Value() : Value(kernel.max_block_threads)},
                        {"command", command}};
}

std::string signature_of(const KernelInfo& kernel) {
  return fmt::format("{}({})", kernel.name,
                     kernel.arguments.empty() ? "" : user_kernel::describe(kernel.arguments));
}

/// Only the kernels of --name, if that is given.
std::vector<KernelInfo> chosen_kernels(const user_kernel::ModuleListing& listing,
                                       const RunKernelOptions& options) {
  if (options.name.empty()) return listing.kernels;
  std::vector<KernelInfo> chosen;
  std::vector<std::string> names;
  for (const KernelInfo& kernel : listing.kernels) {
    names.push_back(kernel.name);
    if (kernel.name == user_kernel::find_user_kernel({kernel}, options.name))
      chosen.push_back(kernel);
  }
  if (!chosen.empty()) return chosen;
  throw Error(ErrorCode::not_found, "run-kernel",
              fmt::format("{} has no kernel '{}'", options.module, options.name),
              base::suggestion(options.name, names));
}

}  // namespace

int list_user_module(const RunKernelOptions& options, Context& context) {
  const user_kernel::ModuleListing listing = user_kernel::list_module(options.module);
  const std::vector<KernelInfo> kernels = chosen_kernels(listing, options);
  report::Run run = make_run(context.environment, "run-kernel", "ok");
  finish_run(run, context.environment, nullptr);
  report::Report report = report::start_report(std::move(run));
  report.verdict.push_back(
      {report::Tone::plain, fmt::format("{}: {} with {}", options.module, listing.description,
                                        base::count_of(kernels.size(), "kernel"))});
  report::Table table{
      "", {{"kernel", "Kernel"}, {"signature", "Signature"}, {"command", "Command"}}, {}};
  report::Array values;
  bool is_ambiguous = false;
  bool has_struct = false;
  for (const KernelInfo& kernel : kernels) {
    const std::vector<std::string> words = command_of(options.module, kernel);
    const std::string command = joined_command(words);
    report.notes.push_back({report::Tone::plain, signature_of(kernel)});
    add_command(words, report.notes);
    values.push_back(kernel_value(kernel, command));
    table.rows.push_back({kernel.name, signature_of(kernel), command});
    for (const ArgumentInfo& info : kernel.arguments) {
      is_ambiguous |= may_be_pointer(info);
      has_struct |= info.size_bytes == 0;
    }
  }
  if (has_struct) {
    report.notes.push_back(
        {report::Tone::plain,
         "bytes:00 is a placeholder for a type of unknown size: give its bytes."});
  }
  if (is_ambiguous) {
    report.notes.push_back({report::Tone::plain,
                            "The image does not say which arguments of 8 bytes are pointers; the "
                            "commands give buffers."});
  }
  report.document.emplace_back("kernels", std::move(values));
  report.csv_tables = {std::move(table)};
  context.output.write(report);
  return *report.run.exit_code;
}

}  // namespace hiptool::cli
