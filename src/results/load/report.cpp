// SPDX-License-Identifier: MIT
#include "results/load/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "base/units.hpp"
#include "model/model_kind.hpp"
#include "model_writer/model_writer.hpp"
#include "report/document.hpp"
#include "report/fields.hpp"
#include "report/text.hpp"
#include "results/load/table.hpp"
#include "results/model/facts.hpp"
#include "results/model/needs.hpp"
#include "results/wrong.hpp"

namespace hiptool::results {
namespace {

using report::Array;
using report::Object;
using report::Tone;
using report::Unit;
using report::Value;

std::optional<double> load_rate(const LoadOutcome& outcome) {
  if (!outcome.statistics || outcome.statistics->load_time_s <= 0) return std::nullopt;
  return static_cast<double>(outcome.statistics->read_bytes) / outcome.statistics->load_time_s;
}

// A share of the link says nothing where the disk was the limit.
bool is_from_disk(const LoadOutcome& outcome) {
  return outcome.cached_bytes && *outcome.cached_bytes < outcome.model->file_bytes() / 10 * 9;
}

bool has_several_devices(const LoadOutcome& outcome) {
  return outcome.plan && outcome.plan->devices.size() > 1;
}

Value model_value(const LoadOutcome& outcome) {
  if (!outcome.model) return {};
  const ModelFile& model = *outcome.model;
  Object fields{
      {"path", model.path().string()},
      {"format", to_string(model.format())},
      {"kind", to_string(model.kind())},
      {"files", static_cast<std::uint64_t>(model.files().size())},
      {"tensors", static_cast<std::uint64_t>(model.tensors().size())},
      {"bytes", model.tensor_bytes()},
      {"parameters", model.parameters()},
      {"architecture", outcome.summary ? Value(outcome.summary->architecture) : Value()},
      {"file_bytes", model.file_bytes()},
  };
  add_summary_fields(fields, outcome.summary.value_or(ModelSummary()));
  Array warnings(model.warnings().begin(), model.warnings().end());
  if (outcome.summary) {
    warnings.insert(warnings.end(), outcome.summary->warnings.begin(),
                    outcome.summary->warnings.end());
  }
  fields.emplace_back("warnings", std::move(warnings));
  return fields;
}

Value algorithm(const LoadOutcome& outcome) {
  if (!outcome.verification) return {};
  return outcome.is_read_back ? "byte-compare" : "xxh3-64 of 16 KiB blocks";
}

// By the device's events, which only GPUs have; the phase "digest" is the same by the host's clock.
Value digest_kernel_time(const LoadOutcome& outcome) {
  if (!outcome.verification || outcome.verification->digest_kernel_time_s <= 0) return {};
  return outcome.verification->digest_kernel_time_s;
}

report::Fields<FaultResult> fault_fields() {
  return {{{"fault", "Fault"}, [](const FaultResult& one) { return to_string(one.fault); }},
          {{"tensor", "Tensor"}, &FaultResult::tensor},
          {{"device", "Device"}, &FaultResult::device},
          {{"device_offset", "Device offset"}, &FaultResult::device_offset},
          {{"caught", "Result"}, &FaultResult::is_caught, [](const FaultResult& one) {
             return one.is_caught ? "caught" : "MISSED";
           }}};
}

report::Fields<Mismatch> mismatch_fields(const LoadOutcome& outcome) {
  const auto file = [files = outcome.model->files()](const Mismatch& one) {
    return files[one.file].path.string();
  };
  return {{{"tensor", "Tensor"}, &Mismatch::tensor},
          {{"file"}, file},
          {{"file_offset", "File offset"}, &Mismatch::file_offset},
          {{"device", "Device"}, &Mismatch::device},
          {{"device_offset", "Device offset"}, &Mismatch::device_offset},
          {{"bytes", "Bytes", Unit::count}, &Mismatch::size_bytes}};
}

Value verify_value(const LoadOutcome& outcome) {
  const bool done = outcome.verification.has_value();
  Object fields{
      {"mode", std::string(to_string(outcome.verify_mode))},
      {"algorithm", algorithm(outcome)},
      {"blocks", done ? Value(outcome.verification->blocks) : Value()},
      {"digest", done ? Value(base::to_hex(outcome.verification->model_digest)) : Value()},
      {"digest_kernel_time_s", digest_kernel_time(outcome)},
      {"mismatches",
       done ? mismatch_fields(outcome).objects(outcome.verification->mismatches) : Array()},
      {"published", published_value(outcome)},
  };
  if (!outcome.uncompared_hashes.empty()) {
    fields.emplace_back("uncompared_hashes", outcome.uncompared_hashes);
  }
  return fields;
}

// "WRONG DATA on nvidia:5: 95 of 760 pieces on 8 devices differ from the file".
std::string wrong_data_text(const LoadOutcome& outcome) {
  const VerifyResult& found = *outcome.verification;
  std::vector<std::string> wrong;
  for (const WrongDevice& one : found.wrong_devices) wrong.push_back(one.device);
  const std::string on = base::ranges_of(std::move(wrong));
  const std::string place = place_text(outcome);
  return fmt::format("WRONG DATA on {}: {} of {} pieces{} differ from the file", on,
                     format_count(found.mismatch_count), format_count(found.blocks),
                     on == place ? "" : " on " + place);
}

// " on nvidia:5": the device that the error is about, else all of the plan.
std::string failed_place(const LoadOutcome& outcome, const Error& error) {
  if (!outcome.plan) return {};
  for (const DevicePlan& part : outcome.plan->devices) {
    if (part.device.id() == error.object()) return " on " + error.object();
  }
  return " on " + place_text(outcome);
}

report::Line outcome_line(const LoadOutcome& outcome, const Error* error) {
  const std::string size =
      outcome.model ? format_size(outcome.model->tensor_bytes()) : std::string();
  const std::string place = outcome.plan ? " on " + place_text(outcome) : std::string();
  const std::string time = " in " + format_duration(outcome.process_verdict_time_s);
  const auto share = outcome.share_of_limit();
  const char* limit = outcome.limits.is_read_bound() ? " of the read rate"
                      : has_several_devices(outcome) ? " of the links"
                                                     : " of the link";
  std::string of_link = share ? ", " + format_share(*share) + limit : std::string();
  if (share && is_from_disk(outcome)) {
    of_link = ", read at " + format_rate(load_rate(outcome).value_or(0));
  }
  if (outcome.status == LoadStatus::verified) {
    return {Tone::good, "verified " + size + place + time + of_link};
  }
  if (outcome.status == LoadStatus::loaded) {
    return {Tone::plain, "loaded " + size + place + time + of_link + ", not verified"};
  }
  if (outcome.status == LoadStatus::empty) {
    return {Tone::plain,
            "empty: " + model_name(outcome.model->path().string()) + " has no tensors"};
  }
  const bool is_refused = outcome.fit && !outcome.fit->is_held;
  if (is_refused || (outcome.fit && outcome.is_planned)) {
    return fit_verdict(*outcome.fit, outcome.model->tensor_bytes(), outcome.chosen_devices);
  }
  if (outcome.is_planned) {
    return {Tone::plain,
            "planned " + size + (outcome.plan ? place + ", which fits" : ", no device was opened")};
  }
  if (outcome.status == LoadStatus::mismatch) {
    return report::failure_line(wrong_data_text(outcome));
  }
  if (outcome.status == LoadStatus::interrupted) {
    const bool is_verified = outcome.verification && outcome.verification->mismatch_count == 0;
    if (is_verified) return report::failure_line("interrupted, verified " + size + place + time);
    return report::failure_line("interrupted after " + format_size(outcome.done_bytes) + " of " +
                                size + place + time);
  }
  std::string reason = error != nullptr ? error->about({}).cause() : std::string();
  const std::string failed_on = error == nullptr ? place : failed_place(outcome, *error);
  return report::failure_line("failed" + failed_on + time + (reason.empty() ? "" : ": " + reason));
}

std::string name_of_model(const LoadOutcome& outcome) {
  // Every made model has the same name, which reads as a command.
  const bool has_name = outcome.summary && outcome.summary->name;
  if (has_name && *outcome.summary->name != model_writer::name_of_made_models)
    return *outcome.summary->name;
  return model_name(outcome.model->path().string());
}

bool has_decoded(const LoadOutcome& outcome, const Error* error) {
  return error == nullptr && outcome.decode;
}

// The cause of the exit code comes first: a missed fault of the self-test, then an error, then NaN.
report::Line verdict_line(const LoadOutcome& outcome, const Error* error) {
  report::Line line = outcome.prove ? prove_verdict(*outcome.prove, name_of_model(outcome))
                      : has_decoded(outcome, error)
                          ? report::Line{Tone::good, decode_verdict(*outcome.decode)}
                          : outcome_line(outcome, error);
  const std::string failed_check = failed_check_text(outcome);
  if (failed_check.empty()) return line;
  const bool is_only_nan = std::all_of(outcome.self_test.begin(), outcome.self_test.end(),
                                       [](const FaultResult& fault) { return fault.is_caught; }) &&
                           (!outcome.prove || missed_faults(*outcome.prove) == 0);
  if (error != nullptr && is_only_nan)
    return {Tone::bad, line.text + "; " + failed_check, line.names_failure};
  return {Tone::bad, failed_check + "; " + line.text};
}

report::Line model_line(const LoadOutcome& outcome) {
  const ModelFile& model = *outcome.model;
  std::string text = "model   " + model_name(model.path().string()) + ": ";
  text += model.format() == ModelFormat::gguf ? fmt::format("GGUF v{}", model.format_version())
                                              : "safetensors";
  if (model.kind() != ModelKind::model) text += ", " + model::model_kind_name(model);
  if (outcome.summary && outcome.summary->architecture) {
    text += ", " + *outcome.summary->architecture;
  }
  text += ", " + base::count_of(model.tensors().size(), "tensor") + ", " +
          short_count(model.parameters()) + " parameters";
  return {Tone::plain, std::move(text)};
}

std::string verify_text(const LoadOutcome& outcome) {
  std::string text = "read back and compared with a second reading of the file";
  if (outcome.verify_mode == VerifyMode::published && !outcome.is_read_back) {
    text = "digests of the device and of the reading that was hashed agree";
  }
  if (outcome.verify_mode == VerifyMode::full)
    text = "digests of the device and of a second reading agree";
  if (outcome.verify_mode == VerifyMode::fast)
    text = "digests of the device and of the bytes read agree";
  if (outcome.status == LoadStatus::mismatch) text = "compared with a second reading of the file";
  return outcome.verify_note.empty() ? text : text + "; " + outcome.verify_note;
}

std::string reads_text(const LoadStatistics& load) {
  if (load.direct_bytes == 0) return "buffered reads";
  std::string text = "direct reads (" + load.direct_engine + ")";
  if (load.buffered_bytes > 0) {
    text += " of " + format_size(load.direct_bytes) + ", buffered of " +
            format_size(load.buffered_bytes);
  }
  return text;
}

template <class Item>
void append(std::vector<Item>& items, std::vector<Item> more) {
  items.insert(items.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

// The devices, the way the bytes were read and copied, and the limits of that.
void add_notes(const LoadOutcome& outcome, std::vector<report::Line>& notes) {
  append(notes, device_lines(outcome));
  if (outcome.statistics) {
    const LoadStatistics& load = *outcome.statistics;
    std::string text =
        "path    " + reads_text(load) + " by " + base::count_of(load.readers, "thread") + ", ";
    text += load.slots == 0
                ? "straight into device memory"
                : fmt::format("{} pinned slots of {}", load.slots, format_size(load.slot_bytes));
    notes.push_back({Tone::plain, std::move(text)});
    for (const std::string& note : load.read_notes) {
      notes.push_back({Tone::plain, "read    " + note});
    }
  }
  const LoadLimits& limits = outcome.limits;
  if (limits.lower()) {
    std::string text = "limits  ";
    if (limits.h2d_bytes_per_s) {
      text += (has_several_devices(outcome) ? "links " : "link ") +
              format_rate(*limits.h2d_bytes_per_s) + " (64 MiB pinned copies in a plain loop)";
    }
    if (limits.read_bytes_per_s) {
      text += (limits.h2d_bytes_per_s ? ", reading " : "reading ") +
              format_rate(*limits.read_bytes_per_s) + " (same threads, no copies)";
    }
    notes.push_back({Tone::plain, std::move(text)});
  }
  if (!limits.note.empty()) notes.push_back({Tone::plain, "limits  " + limits.note});
  if (outcome.verification) {
    notes.push_back({Tone::plain, "verify  " + verify_text(outcome)});
    notes.push_back({Tone::plain, "digest  " + base::to_hex(outcome.verification->model_digest)});
  }
}

Value rate_of(const LoadPhase& phase, const LoadOutcome& outcome) {
  if (phase.name == "load") return load_rate(outcome);
  // The host computes its digests during the load; "verify" only waits for them and compares.
  const bool passes_over_bytes =
      phase.name == "digest" || (phase.name == "verify" && outcome.is_read_back);
  if (!passes_over_bytes || !outcome.verification || phase.duration_s <= 0) return {};
  return static_cast<double>(outcome.verification->compared_bytes) / phase.duration_s;
}

report::Fields<LoadPhase> phase_fields(const LoadOutcome& outcome) {
  return {{{"name"}, &LoadPhase::name},
          {{"phase", "Phase"}, &LoadPhase::name},
          {{"start_s", "Start", Unit::duration}, &LoadPhase::start_s},
          {{"duration_s", "Time", Unit::duration}, &LoadPhase::duration_s},
          {{"bytes_per_s", "Rate", Unit::rate},
           [&outcome](const LoadPhase& one) { return rate_of(one, outcome); }}};
}

// The device last, where there are several.
std::vector<std::string_view> with_device(std::vector<std::string_view> keys,
                                          const LoadOutcome& outcome) {
  if (has_several_devices(outcome)) keys.push_back("device");
  return keys;
}

report::Table mismatches_table(const LoadOutcome& outcome) {
  return mismatch_fields(outcome)
      .only(with_device({"tensor", "file_offset", "device_offset", "bytes"}, outcome))
      .table("Differences", outcome.verification->mismatches);
}

report::Table self_test_table(const LoadOutcome& outcome) {
  return fault_fields()
      .only(with_device({"fault", "caught", "device_offset", "tensor"}, outcome))
      .table("Self-test: faults planted in device memory", outcome.self_test);
}

void add_summary(const LoadOutcome& outcome, const LoadReportOptions& options,
                 report::Report& report) {
  if (!options.dry_run) return;  // programs always get the fields of the model
  append(report.verdict, summary_lines(*outcome.summary));
  report.tables.push_back(types_table(*outcome.summary));
}

void add_fit(const LoadOutcome& outcome, report::Report& report) {
  report.document.emplace_back("fit", fit_value(*outcome.fit, *outcome.summary));
  append(report.verdict, fit_lines(*outcome.fit));
  if (outcome.statistics) return;  // then the fit is not the result
  append(report.notes, fit_notes(*outcome.fit, *outcome.summary));
  report.tables.push_back(fit_table(*outcome.fit));
}

bool lists_tensors(const LoadOutcome& outcome, const LoadReportOptions& options) {
  return options.tensors && outcome.model && outcome.layout;
}

}  // namespace

std::vector<report::Table> finding_tables(const LoadOutcome& outcome) {
  std::vector<report::Table> tables;
  if (outcome.values && !outcome.values->findings.empty()) tables.push_back(values_table(outcome));
  if (outcome.status == LoadStatus::mismatch) tables.push_back(mismatches_table(outcome));
  if (has_differences(outcome)) tables.push_back(differences_table(outcome));
  return tables;
}

std::vector<report::Table> listing_tables(const LoadOutcome& outcome,
                                          const LoadReportOptions& options) {
  std::vector<report::Table> tables;
  if (!outcome.self_test.empty()) tables.push_back(self_test_table(outcome));
  if (lists_tensors(outcome, options)) tables.push_back(tensors_table(outcome));
  return tables;
}

std::string found_text(const LoadOutcome& outcome) {
  return outcome.found_for + " at " + outcome.model->path().string();
}

report::LoadedModel loaded_model(const LoadOutcome& outcome, const report::Run& run) {
  report::LoadedModel loaded;
  loaded.status = run.status;
  loaded.passed = run.passed;
  loaded.exit_code = run.exit_code;
  loaded.error = run.error;
  loaded.failures = run.failures;
  loaded.verdict_time_s = outcome.process_verdict_time_s;
  loaded.has_model = outcome.model.has_value();
  if (!outcome.model) return loaded;
  loaded.path = outcome.model->path().string();
  loaded.size_bytes = outcome.model->tensor_bytes();
  if (outcome.statistics) loaded.load_time_s = outcome.statistics->load_time_s;
  loaded.bytes_per_s = load_rate(outcome);
  loaded.share_of_limit = outcome.share_of_limit();
  loaded.share_reason = outcome.limits.note;
  loaded.devices = copied_to(outcome);
  if (outcome.verification) {
    for (const Value& one : mismatch_fields(outcome).objects(outcome.verification->mismatches)) {
      loaded.wrong.push_back(report::format_value(one, Unit::none));
    }
  }
  if (outcome.prove && outcome.prove->result.first_wrong) {
    loaded.wrong.push_back(
        report::format_value(wrong_step_value(*outcome.prove->result.first_wrong), Unit::none));
  }
  if (outcome.values) {
    loaded.values = report::format_value(values_value(outcome), Unit::none);
    loaded.has_bad_values = outcome.values->nan > 0 || outcome.values->infinite > 0;
  }
  return loaded;
}

report::Report make_load_report(report::Run run, const LoadOutcome& outcome, const Error* error,
                                const LoadReportOptions& options) {
  report::Report report = report::start_report(std::move(run));
  const auto add = [&](const char* name, Value value) {
    report.document.emplace_back(name, std::move(value));
  };
  add("model", model_value(outcome));
  add("devices", report::objects_of(devices_table(outcome), "id"));
  if (outcome.plan) add("split", std::string(to_string(outcome.plan->split)));
  add("verify", verify_value(outcome));
  add("manifest", manifest_value(outcome));
  add("limits", Object{{"h2d_bytes_per_s", outcome.limits.h2d_bytes_per_s},
                       {"read_bytes_per_s", outcome.limits.read_bytes_per_s}});
  add("share_of_limit", outcome.share_of_limit());
  add("share_reason", report::text_or_absent(outcome.limits.note));
  add("load_time_s", outcome.statistics ? Value(outcome.statistics->load_time_s) : Value());
  add("verdict_time_s", outcome.process_verdict_time_s);
  add("wall_time_s", outcome.wall_time_s);
  add("bytes_per_s", load_rate(outcome));
  add("phases",
      phase_fields(outcome).only({"name", "start_s", "duration_s"}).objects(outcome.phases));
  add("residency",
      Object{{"cached_bytes", outcome.cached_bytes},
             {"direct_bytes",
              outcome.statistics ? Value(outcome.statistics->direct_bytes) : Value(0)}});

  report.verdict.push_back(verdict_line(outcome, error));
  const std::vector<std::string> left_out = not_examined(outcome);
  if (!left_out.empty()) {
    report.verdict.front().text += "; not examined: " + base::ranges_of(left_out);
  }
  add("not_examined", Array(left_out.begin(), left_out.end()));
  add_action_lines(report);
  for (const std::string& warning : load_warnings(outcome)) {
    report.notes.push_back({Tone::warning, "warning: " + warning});
  }
  if (outcome.prove) {
    add("prove", prove_value(*outcome.prove));
    append(report.verdict, prove_lines(*outcome.prove));
  }
  if (outcome.decode) {
    add("decode", decode_value(*outcome.decode));
    if (!has_decoded(outcome, error)) {
      report.verdict.push_back({Tone::plain, decode_verdict(*outcome.decode)});
    }
    append(report.verdict, decode_lines(*outcome.decode));
  }
  if (outcome.prove || has_decoded(outcome, error)) {
    report.verdict.push_back({Tone::plain, outcome_line(outcome, error).text});
  }
  if (outcome.model) {
    report.verdict.push_back(model_line(outcome));
    if (!outcome.found_for.empty()) {
      report.verdict.push_back({Tone::plain, "found   " + found_text(outcome)});
    }
  }
  if (outcome.summary) add_summary(outcome, options, report);
  add_notes(outcome, report.verdict);
  if (outcome.fit) add_fit(outcome, report);
  append(report.verdict, hashes_lines(outcome));
  if (outcome.prove_needs) {
    add("prove_needs", needs_value(*outcome.prove_needs));
    report.verdict.push_back(needs_line(*outcome.prove_needs));
  }
  if (outcome.values) {
    add("values", values_value(outcome));
    report.verdict.push_back(values_line(outcome));
  }
  append(report.tables, finding_tables(outcome));
  if (outcome.statistics && has_several_devices(outcome)) {
    report.tables.push_back(devices_table(outcome));
  }
  if (outcome.statistics || outcome.status == LoadStatus::interrupted) {
    report.tables.push_back(phase_fields(outcome)
                                .only({"phase", "start_s", "duration_s", "bytes_per_s"})
                                .table("", outcome.phases));
  }
  if (!outcome.self_test.empty()) add("self_test", fault_fields().objects(outcome.self_test));
  append(report.tables, listing_tables(outcome, options));
  if (lists_tensors(outcome, options)) {
    report.csv_tables = {full_tensors_table(outcome)};
    add("tensors", report::objects_of(report.csv_tables->front()));
  } else {
    report.csv_tables = {load_table(report.document)};
  }
  report.models = {loaded_model(outcome, report.run)};
  set_measurements(report, report::load_measurements(report.models));
  return report;
}

}  // namespace hiptool::results
