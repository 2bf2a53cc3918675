// SPDX-License-Identifier: MIT
#include "cli/help.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command_docs.hpp"
#include "cli/command_list.hpp"
#include "cli/exit_code.hpp"
#include "cli/suggest.hpp"
#include "hiptool/error.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

constexpr std::size_t left_columns = 28;
constexpr std::size_t widest_text = 100;

std::string heading(const std::string& text, const HelpStyle& style) {
  return styled(text, "1", style.color) + "\n";
}

// "  left    text", the text wrapped at blanks below itself.
std::string two_columns(const std::string& left, const std::string& text, const HelpStyle& style) {
  const std::size_t width = std::clamp(style.width, left_columns + 20, widest_text);
  std::string result = fmt::format("  {:<{}}", left, left_columns - 2);
  std::size_t column = left_columns;
  if (left.size() + 2 >= left_columns) {
    result += "\n" + std::string(left_columns, ' ');
  }
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::size_t length = end - start;
    if (column > left_columns && column + 1 + length > width) {
      result += "\n" + std::string(left_columns, ' ');
      column = left_columns;
    } else if (column > left_columns) {
      result += ' ';
      ++column;
    }
    result += text.substr(start, length);
    column += length;
    start = end + 1;
  }
  return result + "\n";
}

std::string examples_text(const std::vector<Example>& examples, const HelpStyle& style) {
  std::string text = heading("Examples:", style);
  std::size_t longest = 0;
  for (const Example& example : examples) longest = std::max(longest, example.line.size());
  for (const Example& example : examples) {
    text += fmt::format("  {:<{}}  # {}\n", example.line, longest, example.purpose);
  }
  return text;
}

// "-q, --quiet" or "    --size SIZE"; positionals are just their name.
std::string option_words(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string words = option.get_snames().empty() ? "    " : "-" + option.get_snames().front();
  if (!option.get_snames().empty() && !option.get_lnames().empty()) words += ", ";
  if (!option.get_lnames().empty()) words += "--" + option.get_lnames().front();
  if (option.get_items_expected_max() > 0) words += " " + option.get_type_name();
  return words;
}

// Of the options that stand with every command, whether they mean something for this one.
bool is_common_for(const CLI::Option& option, const Command& command) {
  if (option.check_lname("format")) return !command.has_own_format;
  if (option.check_lname("device") || option.check_lname("platform")) return command.takes_devices;
  return true;
}

std::string options_text(const CLI::App& app, bool positional, const HelpStyle& style,
                         const Command* command = nullptr) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() != positional) continue;
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;  // a common option
    if (command != nullptr && !is_common_for(*option, *command)) continue;
    text += two_columns(option_words(*option), option->get_description(), style);
  }
  return text;
}

std::string names_line(std::string line, const std::vector<std::string>& names,
                       const HelpStyle& style) {
  for (const std::string& name : names) line += name + (name == names.back() ? "" : ", ");
  std::string text;
  for (const std::string& part : report::wrap(line, std::min(style.width, widest_text), 2)) {
    text += part + "\n";
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<OutputFormat>& formats) {
  std::vector<std::string> names;
  for (const OutputFormat format : formats) names.emplace_back(to_string(format));
  return names;
}

std::string usage_line(const CLI::App& app) {
  std::string line = "Usage: hiptool " + app.get_name() + " [options]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true);
    const std::string more = option->get_items_expected_max() > 1 ? "..." : "";
    line += option->get_required() ? " " + name + more : " [" + name + more + "]";
  }
  return line + "\n";
}

constexpr std::string_view environment_text =
    R"(Environment variables that hiptool reads. Options win over variables.

  HIPTOOL_DEVICE         default of --device: nvidia:0, amd:1, cpu, all, ...
  HIPTOOL_FORMAT         default of --format: table, json, csv or markdown
  HIPTOOL_HIP_LIBRARY    path of the ROCm runtime library to use
  HIPTOOL_CUDA_LIBRARY   path of the CUDA driver library to use
  HIPTOOL_CPU_DEVICES    how many cpu devices to make, 1 if not set
  NO_COLOR               no colour, if not empty
  CLICOLOR_FORCE         colour also off a terminal, if not empty and not 0
  COLUMNS                width of tables
  TERM                   dumb: no colour, no progress bar
  LC_ALL, LC_CTYPE, LANG plain ASCII unless they name UTF-8
  LD_LIBRARY_PATH        where runtime libraries are searched first
  TMPDIR                 folder for temporary files, /tmp if not set or empty
  XDG_CACHE_HOME         compiled kernels are kept in its folder hiptool, else
                         in ~/.cache/hiptool, if only you can write there
  OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, RANK, SLURM_PROCID,
  JOB_COMPLETION_INDEX   the rank in a job; files of --export, --trace and
                         --write-manifest get it into their names: {rank},
                         {host}, else out.json to out.3.json, which a note says

The vendors' runtimes read their own, among them:

  HIP_VISIBLE_DEVICES    the AMD devices that HIP shows, and their order
  ROCR_VISIBLE_DEVICES   the same, one layer below
  GPU_DEVICE_ORDINAL     the same, older name
  HSA_OVERRIDE_GFX_VERSION   run an AMD device as another architecture
  CUDA_VISIBLE_DEVICES   the NVIDIA devices the driver shows, and their order
  CUDA_DEVICE_ORDER      FASTEST_FIRST or PCI_BUS_ID
)";

constexpr std::string_view units_text =
    R"(Units that hiptool reads and writes.

Sizes that you give:
  4096                   bytes
  64KiB 64K              binary: 1 KiB is 1024 bytes; also MiB GiB TiB, M G T
  64KB 64MB 64GB 64TB    decimal: 1 MB is 1 000 000 bytes
  1.5GiB                 a fraction of a unit
  4K,1M                  a list, where sizes are asked for
  4KiB..1GiB             a range of powers of two, both ends included

What you read in tables:
  sizes                  binary: KiB, MiB, GiB
  rates                  decimal: GB/s is 1 000 000 000 bytes per second
  PCIe rates             one direction, after line coding

In JSON and CSV every number is in base units: bytes, seconds, bytes per second,
hertz, shares from 0 to 1. A value that is not known is null, or empty in CSV.
Text in CSV that a spreadsheet would run as a formula, because it starts with
= + - or @, has an apostrophe in front.
)";

constexpr std::string_view thresholds_text =
    R"(Thresholds, for --fail-below of bench-copy and run-kernel. Missed: exit 1.

  'h2d.pinned>=48GB/s'   a name, >= and a rate; quoted, or the shell takes the >
  @FILE                  a file of them

Names are words with dots between. All of them have to fit; what is not named is
free. A name that nothing fits is exit 2.
  h2d.pinned.256MiB      of a copy, in any order: kind, memory, engine, size,
                         read, node0, device
  stream.f32.1GiB        of a kernel: first it or its group, then type, size,
                         device

Rates:
  48GB/s 44GiB/s         of copies each byte once, of kernels read plus written
  20TFLOP/s              operations, of kernels only
  90%                    of the limit that the report names. Without a limit,
                         and where the rate is above it: exit 2, give a rate

A file has one a line. After a line in brackets they are for devices with that
in their name only, whatever the case:
  h2d>=10GB/s            # for all
  [H200]
  h2d>=48GB/s
  d2h>=90%

bench-copy --retry 2/3: met when 2 of at most 3 measurements meet it.

The first line of the report and failures[] of its JSON name each missed
threshold with its measurement, the expected figure and the one measured.
)";

}  // namespace

std::string overview_text(const CommandTree& tree, const HelpStyle& style) {
  const CLI::App& root = tree.root();
  std::string text = "hiptool " + root.get_description() + "\n\n";
  std::vector<Example> examples;
  for (const Command& command : commands()) examples.push_back(command.examples.front());
  text += examples_text(examples, style) + "\n" + heading("Commands:", style);
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    text += two_columns(command->get_name(), command->get_description(), style);
  }
  text += "\n" + heading("Options of every command:", style) + options_text(root, false, style);
  return text + "\n" + names_line("More: hiptool help COMMAND, ", help_topics(), style);
}

std::string command_help_text(const CommandTree& tree, const Command& command,
                              const HelpStyle& style) {
  const CLI::App& app = tree.subcommand(command.name);
  std::string text = "hiptool " + command.name + ": " + command.summary + "\n\n";
  text += examples_text(command.examples, style) + "\n" + usage_line(app);
  if (const std::string arguments = options_text(app, true, style); !arguments.empty()) {
    text += "\n" + heading("Arguments:", style) + arguments;
  }
  if (const std::string options = options_text(app, false, style); !options.empty()) {
    text += "\n" + heading("Options:", style) + options;
  }
  text += "\n" + heading("Options of every command:", style) +
          options_text(tree.root(), false, style, &command);
  text += "\n" + names_line("Output formats of this command: ", names_of(command.formats), style);
  if (command.export_formats.empty()) return text;
  return text + names_line("With --export also: ", names_of(command.export_formats), style);
}

std::string topic_text(const std::string& topic) {
  if (topic == "exit-codes") return exit_codes_text();
  if (topic == "environment") return std::string(environment_text);
  if (topic == "thresholds") return std::string(thresholds_text);
  if (topic == "units") return std::string(units_text);
  std::vector<std::string> topics = help_topics();
  for (const Command& command : commands()) topics.push_back(command.name);
  const std::string near = suggestion(topic, topics);
  throw Error(ErrorCode::invalid_argument, "help", "there is no help on '" + topic + "'",
              near.empty() ? "see 'hiptool help'" : near + "\nsee 'hiptool help'");
}

}  // namespace hiptool::cli
