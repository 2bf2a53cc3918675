// SPDX-License-Identifier: MIT
#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>

#include "cli/command_list.hpp"
#include "cli/options.hpp"

namespace hiptool::cli {

CommandTree::CommandTree()
    : root_(std::make_unique<CLI::App>("speaks HIP on AMD, NVIDIA and CPU", "hiptool")) {
  // At most one subcommand, so that a file called like one is not taken for a second.
  root_->require_subcommand(0, 1);
  root_->fallthrough();
  root_->set_help_flag("-h,--help", "show help, with examples");
  add_common_options();
  for (const Command& command : commands()) {
    CLI::App* subcommand = root_->add_subcommand(command.name, command.summary);
    runners_.push_back(command.add(*subcommand));
  }
  CLI::App* help = root_->add_subcommand("help", "explain a command or a topic");
  add_text(*help, "TOPIC", "", help_topic_,
           "a command, exit-codes, environment, thresholds, units, reference or man");
}

CommandTree::~CommandTree() = default;

void CommandTree::add_common_options() {
  CLI::App& root = *root_;
  add_texts(root, "-d,--device", "LIST", common_.devices,
            "devices: nvidia:0, amd:1, cpu, all, a uuid or PCI bus id; repeatable");
  add_choice(root, "--platform", "NAME", common_.platform, {"amd", "nvidia", "cpu"},
             "only devices of one platform");
  add_text(root, "--format", "FORMAT", common_.format,
           "format of standard output: table, json, csv, markdown");
  add_texts(root, "--export", "FORMAT=FILE", common_.exports,
            "write a file too; repeatable; {rank} and {host} in its name are replaced");
  add_choice(root, "--color", "WHEN", common_.color, {"auto", "always", "never"}, "use colour");
  add_flag(root, "-q,--quiet", common_.quiet, "no progress, only results and errors");
  add_flag(root, "-v,--verbose", common_.verbose, "also what the runtimes remarked");
  add_flag(root, "-V,--version", common_.version, "show versions and the runtimes on disk");
}

const CLI::App& CommandTree::subcommand(const std::string& name) const {
  return *root_->get_subcommand(name);
}

const Runner& CommandTree::runner(const Command& command) const {
  return runners_[static_cast<std::size_t>(&command - commands().data())];
}

}  // namespace hiptool::cli
