// SPDX-License-Identifier: MIT
/// What `check --expect` compares besides the rates, and the file of `check --write-expect`.
#pragma once
#include <optional>
#include <string>

#include "accept/check.hpp"
#include "cli/commands/check/machine.hpp"
#include "cli/commands/check/run.hpp"
#include "cli/output/output.hpp"

namespace hiptool::cli {

/// Compares the number of GPUs with that of the file, where the whole machine is checked and its
/// drivers answer: which GPUs are missing.
std::optional<accept::Fault> compare_gpu_counts(const accept::Expectations& expectations,
                                                const CheckedMachine& machine,
                                                results::CheckOutcome& outcome);

/// Finds what a file expects and this level does not measure. The outcome gets an error if this
/// level should have measured it.
void compare_expectations(const accept::CheckOptions& options, results::CheckOutcome& outcome);

/// Writes the file of --write-expect, `path`.
void write_expectations(const CheckedMachine& machine, double margin, ExportFile& file,
                        const std::string& path, results::CheckOutcome& outcome);

}  // namespace hiptool::cli
