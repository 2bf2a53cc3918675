// SPDX-License-Identifier: MIT
/// The report of a load, and the parts that it is made of.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/load_plan.hpp"
#include "report/report.hpp"
#include "results/load/outcome.hpp"
#include "results/model/summary.hpp"

namespace hiptool::results {

/// What was asked for besides a load.
struct LoadReportOptions {
  bool tensors = false;  ///< a list of them
  bool dry_run = false;  ///< a plan, and no load
};

/// An outcome as lines, tables and the fields of `hiptool.load/2`. `run` has its verdict; `error`
/// ended the run and may be null. CSV has one table: a row for the load, or one for each tensor.
report::Report make_load_report(report::Run run, const LoadOutcome& outcome, const Error* error,
                                const LoadReportOptions& options);

/// What was measured and found, of a run that ended so.
report::LoadedModel loaded_model(const LoadOutcome& outcome, const report::Run& run);

/// Of the model, its summary, the plan and the fit, without "warning: ".
std::vector<std::string> load_warnings(const LoadOutcome& outcome);

/// What was found to be wrong: NaN and infinity, bytes that differ, differences from a manifest.
std::vector<report::Table> finding_tables(const LoadOutcome& outcome);

/// What was listed on request: the faults of the self-test, the tensors.
std::vector<report::Table> listing_tables(const LoadOutcome& outcome,
                                          const LoadReportOptions& options);

// ---- verdict.cpp: the verdict of a run, computed once and read by every writer

/// 5 for wrong data or a planted fault that went undetected, whatever else failed; then the code of
/// `error` (null: none), then 1 for NaN and infinity. `signal` is the one that interrupted the run.
int load_exit_code(const LoadOutcome& outcome, const Error* error, int signal);

/// One for each tensor with NaN or infinity and for each undetected fault of the self-test.
std::vector<report::Failure> load_failures(const LoadOutcome& outcome);

/// "self-test missed 1 of 5 planted faults: ..." or "NaN: 3 values in 1 tensor (a)"; empty if
/// neither occurred.
std::string failed_check_text(const LoadOutcome& outcome);

/// "org/name at /cache/models--org--name": where a name led; requires found_for.
std::string found_text(const LoadOutcome& outcome);

// ---- placement.cpp

/// "bytes", "layer", "proportions" or "replicate".
std::string_view to_string(SplitKind split) noexcept;

/// "nvidia:0", "nvidia:0, nvidia:1" or "8 devices"; empty while no device is known.
std::string place_text(const LoadOutcome& outcome);

/// Chosen devices that the result says nothing about: they got no tensors or, of a proof that was
/// interrupted, were not reached.
std::vector<std::string> not_examined(const LoadOutcome& outcome);

/// Names of the devices and, of several, the tensors of each.
std::vector<report::Line> device_lines(const LoadOutcome& outcome);

/// The copies to each device.
std::vector<report::LoadedModel::Copied> copied_to(const LoadOutcome& outcome);

/// Every chosen device, also one that gets no tensors, and its copy rate.
report::Table devices_table(const LoadOutcome& outcome);

/// Every tensor, with its device where there are several.
report::Table tensors_table(const LoadOutcome& outcome);

/// The same for programs: a row for each copy, with every field of `tensors` of the document.
report::Table full_tensors_table(const LoadOutcome& outcome);

// ---- fit.cpp

/// The field `fit` of `hiptool.load/2`.
report::Value fit_value(const ModelFit& fit, const ModelSummary& summary);

/// "fits on amd:0 with a context of 4 096", "may not fit: ...", "does not fit: ...".
std::string fit_text(const ModelFit& fit, std::size_t chosen_devices);

/// The first line for a model that was only planned: "planned 4.37 GiB on amd:0, which fits ..." or
/// "may not fit: ...", "does not fit: ...".
report::Line fit_verdict(const ModelFit& fit, std::uint64_t tensor_bytes,
                         std::size_t chosen_devices);

/// The required memory by purpose, and the maximum context.
std::vector<report::Line> fit_lines(const ModelFit& fit);

/// Warnings of a context longer than in training, and of a KV cache that is a bound.
std::vector<std::string> fit_warnings(const ModelFit& fit, const ModelSummary& summary);

/// What the numbers mean, and their limits.
std::vector<report::Line> fit_notes(const ModelFit& fit, const ModelSummary& summary);

/// One row for each device; no rows where nothing fits.
report::Table fit_table(const ModelFit& fit);

// ---- hashes.cpp

/// `verify.published` of the document: {file, published, found} for each file.
report::Array published_value(const LoadOutcome& outcome);

/// `manifest` of the document: {checked, written} (paths or null), {algorithm, covers_metadata} of
/// the manifest that was compared, and differences[] {tensor, file, what, expected, got}.
report::Value manifest_value(const LoadOutcome& outcome);

/// Whether the model was found to differ from a manifest.
bool has_differences(const LoadOutcome& outcome);

/// Every difference from the manifest, long hashes cut; one row for each.
report::Table differences_table(const LoadOutcome& outcome);

/// "not compared with SHA256SUMS; use --verify published"; requires uncompared_hashes.
std::string uncompared_text(const LoadOutcome& outcome);

/// The manifests and hashes that were compared and written, for people.
std::vector<report::Line> hashes_lines(const LoadOutcome& outcome);

// ---- values.cpp

/// The result of `--check-tensors` for the document: {checked, nan, inf, tensors[], zeros[]}.
report::Value values_value(const LoadOutcome& outcome);

/// The same for people: a line, and a table of the tensors with such values.
report::Line values_line(const LoadOutcome& outcome);
report::Table values_table(const LoadOutcome& outcome);

/// "2 tensors hold nothing but zeros: a, b; ..."; empty if there are none.
std::string zeros_text(const LoadOutcome& outcome);

// ---- prove.cpp

/// The field `prove` of `hiptool.load/2`.
report::Value prove_value(const ProveOutcome& prove);
/// The faults of its self-test that the proof did not name.
std::size_t missed_faults(const ProveOutcome& prove);
/// Its field `first_wrong`.
report::Value wrong_step_value(const reference::WrongValue& wrong);

/// What a proof needs, for people.
report::Line needs_line(const reference::Needs& needs);

/// "proved: NAME computes right on amd:0: ..." or "wrong: NAME on amd:1: ...".
report::Line prove_verdict(const ProveOutcome& prove, const std::string& name);
/// Of each computation that is wrong; none where it is right or was not confirmed.
std::vector<report::Failure> prove_failures(const ProveOutcome& prove);
/// What follows it.
std::vector<report::Line> prove_lines(const ProveOutcome& prove);

// ---- decode.cpp

/// The field `decode` of `hiptool.load/2`.
report::Value decode_value(const DecodeOutcome& decode);
/// "decoded 4 tokens on nvidia:0, 35.1 tokens/s".
std::string decode_verdict(const DecodeOutcome& decode);
/// What follows it: the prompt, the ids and their text.
std::vector<report::Line> decode_lines(const DecodeOutcome& decode);

}  // namespace hiptool::results
