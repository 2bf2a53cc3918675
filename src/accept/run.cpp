// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "accept/rates.hpp"
#include "accept/soak.hpp"
#include "accept/stages.hpp"
#include "accept/watch.hpp"
#include "accept/workers.hpp"
#include "base/clock.hpp"
#include "base/host_error.hpp"
#include "hip/patient_sensors.hpp"
#include "runtime/decode_tokens.hpp"

namespace hiptool::accept {
namespace {

using StageFunction = decltype(Stage::use);
using SharedWork = std::shared_ptr<StageWork>;

constexpr std::chrono::seconds progress_pause{1};
// A library's own process has a limit, and is ended first.
constexpr double again_patience = 2;

// After these the process cannot use the device any more; a library's own process may hang.
bool ends_device(const std::optional<Error>& error) {
  if (!error) return false;
  const bool is_call = error->code() == ErrorCode::device && error->native().has_value();
  return error->code() == ErrorCode::device_lost || (is_call && !error->is_recoverable());
}

/// The device is not at fault: it lacks something.
bool is_beyond_device(const Error& error) {
  return error.code() == ErrorCode::unsupported || error.code() == ErrorCode::out_of_memory;
}

bool is_among(const std::string& id, const std::vector<std::string>& ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

report::Measurement failed_measurement(const report::Measurement& of, const Error& error) {
  report::Measurement failed = of;
  failed.status = report::Status::failed;
  failed.reason = error.what();
  failed.error = error;
  failed.samples_s.clear();
  for (auto* const figure : {&failed.median_s, &failed.bytes_per_s, &failed.low_bytes_per_s,
                             &failed.high_bytes_per_s, &failed.flops_per_s, &failed.share_of_limit})
    figure->reset();
  return failed;
}

/// A step may open the sensors of several platforms.
std::chrono::milliseconds sensor_patience(double patience_s) {
  constexpr double share_of_step = 0.25;
  const std::chrono::duration<double> of_step(patience_s * share_of_step);
  return std::min(hip::sensor_patience,
                  std::chrono::duration_cast<std::chrono::milliseconds>(of_step));
}

/// All stages on all devices.
class CheckRun {
 public:
  CheckRun(const std::vector<Device>& devices, const CheckOptions& options, CheckResult& result)
      : devices_(devices),
        options_(options),
        result_(result),
        watch_(devices, options.root, options.patience_s, *options.cancel) {
    rules_.expectations = options.expectations ? &*options.expectations : nullptr;
    rules_.spread = options.spread;
    for (const CheckedDevice& device : result.devices) rules_.devices[device.id] = device.info;
    rules_.again = [this](const StageMeasurement& measured) { return again(measured); };
    watch_.begin();
  }

  void run() {
    auto context = std::make_shared<StageContext>();
    context->level = options_.level;
    context->size_bytes = options_.size_bytes;
    context->root = options_.root;
    context->child = options_.child;
    context->child.timeout_s = options_.patience_s;
    context->cancel = options_.cancel;
    context->sensor_patience = sensor_patience(options_.patience_s);
    context->kernels = options_.kernels;
    context->operations = options_.operations;
    context->model = options_.model;
    context->job = options_.job;
    for (const Stage& stage : all_stages()) {
      if (!is_chosen(stage.name)) continue;
      if (stage.use_all != nullptr) {
        run_together(stage, context);
      } else if (stage.use == model_stage) {
        run_model(context);
      } else if (stage.use == soak_stage) {
        run_soak(context);
      } else if (stage.use != nullptr) {
        run_everywhere(stage.name, stage.use, context);
      }
    }
    const auto rated = names_of_stages(&Stage::is_rated);
    if (std::any_of(rated.begin(), rated.end(), [this](const auto& one) { return is_chosen(one); }))
      result_.without_limits = models_without_limits(rules_);
    result_.was_cancelled = options_.cancel->is_cancelled();
    result_.has_left_threads = result_.has_left_threads || watch_.has_left_threads();
  }

 private:
  bool is_chosen(const std::string& stage) const {
    const auto& chosen = options_.stages;
    return std::find(chosen.begin(), chosen.end(), stage) != chosen.end();
  }
  bool is_lost(const Device& device) const { return lost_.count(device.id()) > 0; }

  std::string first_hung() const { return hung_.empty() ? std::string() : *hung_.begin(); }

  void run_together(const Stage& stage, const SharedContext& earlier) {
    if (options_.cancel->is_cancelled()) return;
    const auto context = std::make_shared<StageContext>(*earlier);
    context->hung = first_hung();
    const auto start = Heartbeat::Clock::now();
    std::vector<Device> usable;
    for (const Device& device : devices_) {
      if (!is_lost(device)) usable.push_back(device);
    }
    std::vector<SharedWork> works;
    for (std::size_t i = 0; i <= usable.size(); ++i) works.push_back(std::make_shared<StageWork>());
    const std::map<std::string, std::string> lost_before = lost_;
    const auto on_look = [&](const auto& step_of) { tell(stage.name, start, {nullptr}, step_of); };
    const JointStageEnd end = stage.use_all(usable, context, options_.patience_s, works, on_look);
    for (const std::string& id : end.lost) {
      lost_.emplace(id, stage.name);
      if (context->hung.empty() && !is_among(id, end.held_up)) hung_.insert(id);
    }
    result_.has_left_threads = result_.has_left_threads || end.has_left_threads;
    std::vector<StageResult> results;
    std::size_t next = 0;
    for (const Device& device : devices_) {
      const bool was_lost = lost_before.count(device.id()) > 0;
      results.push_back(was_lost ? lost_result(stage.name, device)
                                 : take(stage.name, device.id(), *works[next++]));
    }
    results.push_back(take(stage.name, "", *works.back()));
    for (StageResult& result : results) {
      if (is_among(result.device, end.held_up)) mark_held_up(result, first_hung());
    }
    // Copies are of each device; of other stages there may be nothing to say of one.
    const bool is_of_each = stage.use_all == copy_stage;
    std::erase_if(results, [&](const StageResult& one) {
      return one.status == StageStatus::skipped && one.reason.empty() &&
             (one.device.empty() || !is_of_each);
    });
    finish(std::move(results), base::seconds_since(start));
  }

  void run_everywhere(const std::string& stage, StageFunction function,
                      const SharedContext& context) {
    if (options_.cancel->is_cancelled()) return;
    const auto start = Heartbeat::Clock::now();
    std::vector<SharedWork> works;
    std::vector<Task> tasks;
    std::vector<const Device*> working;
    for (const Device& device : devices_) {
      if (is_lost(device)) continue;
      const SharedWork work = std::make_shared<StageWork>();
      works.push_back(work);
      working.push_back(&device);
      tasks.push_back([device, context, work, stage, function](Heartbeat& heart) {
        run_one(stage, device, *context, heart, *work, function);
      });
    }
    const std::string hung_before = first_hung();
    const auto on_look = [&](const auto& step_of) { tell(stage, start, working, step_of); };
    const std::vector<TaskEnd> ends =
        run_tasks(tasks, options_.patience_s, *options_.cancel, on_look);
    std::vector<StageResult> results;
    std::size_t next = 0;
    for (const Device& device : devices_) {
      if (is_lost(device)) {
        results.push_back(lost_result(stage, device));
        continue;
      }
      const TaskEnd& end = ends[next];
      const bool is_done = is_held_up_at_end(end, ends, !hung_before.empty());
      const bool is_held_up = end.is_left_behind && !is_done && !hung_before.empty();
      if (is_done || is_held_up) {
        result_.has_left_threads = true;
        lost_.emplace(device.id(), stage);
      } else if (end.is_left_behind) {
        add_hang(stage, device, end, *works[next]);
      }
      results.push_back(take(stage, device.id(), *works[next]));
      if (is_held_up) mark_held_up(results.back(), hung_before);
      results.back().time_s = end.time_s;
      ++next;
    }
    finish(std::move(results), base::seconds_since(start));
  }

  /// Says once a second what each device does; null for a task of all of them.
  void tell(const std::string& stage, Heartbeat::Clock::time_point start,
            const std::vector<const Device*>& working,
            const std::function<std::string(std::size_t)>& step_of) {
    const auto now = Heartbeat::Clock::now();
    const auto last = std::max(told_at_, start);
    if (!options_.on_progress || now - last < progress_pause) return;
    told_at_ = now;
    StageProgress progress{stage, base::seconds_since(start), {}};
    for (std::size_t i = 0; i < working.size(); ++i) {
      const std::string step = step_of(i);
      if (step.empty()) continue;
      const std::string id = working[i] == nullptr ? "" : working[i]->id();
      progress.steps.emplace_back(id, soak_ ? soak_->text_of(id) : step);
    }
    options_.on_progress(progress);
  }

  void run_soak(const SharedContext& earlier) {
    if (options_.cancel->is_cancelled()) return;
    const auto usable = std::count_if(devices_.begin(), devices_.end(),
                                      [this](const Device& one) { return !is_lost(one); });
    const auto context = std::make_shared<StageContext>(*earlier);
    context->soak = std::make_shared<Soak>(Soak::Options{plan_soak(options_.soak_s, true),
                                                         static_cast<std::size_t>(usable),
                                                         options_.patience_s, options_.cancel});
    soak_ = context->soak;
    run_everywhere("soak", soak_stage, context);
    soak_.reset();
  }

  /// A device that did all its work and whose memory is not released while another one hangs.
  static bool is_held_up_at_end(const TaskEnd& end, const std::vector<TaskEnd>& all,
                                bool has_hung_before) {
    const auto is_releasing = [](const TaskEnd& one) {
      return one.is_left_behind && one.step.starts_with(releasing_step);
    };
    if (!is_releasing(end) || has_hung_before) return is_releasing(end);
    return std::any_of(all.begin(), all.end(), [&](const TaskEnd& one) {
      return one.is_left_behind && !is_releasing(one);
    });
  }

  static void run_one(const std::string& stage, const Device& device, const StageContext& context,
                      Heartbeat& heart, StageWork& work, StageFunction function) {
    try {
      function(device, context, heart, work);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) return;
      if (is_beyond_device(error)) {
        work.add_skip(error.what());
      } else {
        work.add(Fault{code_of(error), stage, device.id(), error.what(), action_of(error), error});
      }
    } catch (const std::exception& exception) {
      const Error error = base::to_error(exception);
      work.add(Fault{code_of(error), stage, device.id(), error.what(), action_of(error), error});
    }
  }

  void run_model(const std::shared_ptr<StageContext>& earlier) {
    if (options_.cancel->is_cancelled()) return;
    // Threads that were left behind still read the earlier one.
    const auto context = std::make_shared<StageContext>(*earlier);
    const auto failed = std::make_shared<StageWork>();
    const CheckModel model = options_.model;
    const TaskEnd end = run_tasks({[context, failed, model](Heartbeat& heart) {
                                    prepare_model(*context, *failed, model, heart);
                                  }},
                                  options_.patience_s, *options_.cancel)
                            .front();
    result_.has_left_threads = result_.has_left_threads || end.is_left_behind;
    if (options_.cancel->is_cancelled()) return;
    if (end.is_left_behind) {
      const Error error(ErrorCode::timed_out, "check", "the host took too long for " + end.step);
      failed->add(Fault{code_of(error), "model", "", error.what(),
                        action_for_hang(Platform::cpu, options_.patience_s, error), error});
    }
    StageWork::Findings findings = failed->take();
    if (findings.faults.empty()) return run_everywhere("model", model_stage, context);
    StageResult result;
    result.stage = "model";
    result.status = StageStatus::failed;
    result.faults = std::move(findings.faults);
    finish({std::move(result)}, end.time_s);
  }

  static void prepare_model(StageContext& context, StageWork& failed, const CheckModel& model,
                            Heartbeat& heart) {
    try {
      context.file = ModelFile::open(model.path);
      context.spec = DecoderSpec::read(*context.file);
      context.prompt = runtime::default_prompt(context.spec->vocabulary);
      compute_reference(context, heart);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled) {
        failed.add(Fault{code_of(error), "model", "", error.what(), action_of(error), error});
      }
    } catch (const std::exception& exception) {
      const Error error = base::to_error(exception);
      failed.add(Fault{code_of(error), "model", "", error.what(), action_of(error), error});
    }
  }

  void add_hang(const std::string& stage, const Device& device, const TaskEnd& end,
                StageWork& work) {
    result_.has_left_threads = true;
    lost_.emplace(device.id(), stage);
    hung_.insert(device.id());
    if (options_.cancel->is_cancelled()) return;
    const Error error(
        ErrorCode::timed_out, "check",
        fmt::format("no answer within {:g} s during: {}", options_.patience_s, end.step));
    work.add(Fault{code_of(error), stage, device.id(), error.what(),
                   action_for_hang(device.platform(), options_.patience_s, error), error});
  }

  /// Its own faults remain the result; without one the stage is skipped, for it did not end. Rates
  /// are not judged, since a second measurement cannot confirm them.
  void mark_held_up(StageResult& result, const std::string& hung) {
    for (StageMeasurement& measured : stage_measurements_) {
      if (is_among(result.device, measured.devices)) measured.again = nullptr;
    }
    if (result.status == StageStatus::failed || result.was_interrupted) return;
    result.status = StageStatus::skipped;
    result.was_unreachable = true;
    result.reason = held_up_text(result.device, hung);
  }

  StageResult lost_result(const std::string& stage, const Device& device) const {
    StageResult result;
    result.was_unreachable = true;
    result.stage = stage;
    result.device = device.id();
    result.reason = fmt::format("not used any more after the stage {}", lost_.at(device.id()));
    return result;
  }

  StageResult take(const std::string& stage, const std::string& device, StageWork& work) {
    StageWork::Findings findings = work.take();
    StageResult result;
    result.stage = stage;
    result.device = device;
    for (Fault& fault : findings.faults) {
      const bool refuses = fault.severity == machine::Severity::fail;
      (refuses ? result.faults : result.warnings).push_back(std::move(fault));
    }
    result.figures = fmt::format("{}", fmt::join(findings.figures, ", "));
    result.reason = fmt::format("{}", fmt::join(findings.skips, "; "));
    if (!result.faults.empty()) {
      result.status = StageStatus::failed;
    } else if (findings.has_run && !options_.cancel->is_cancelled()) {
      result.status = StageStatus::passed;
    } else if (options_.cancel->is_cancelled()) {
      result.reason = "interrupted";
      result.was_interrupted = true;
    }
    for (StageMeasurement& measured : findings.measurements)
      stage_measurements_.push_back(std::move(measured));
    return result;
  }

  /// Judges the rates of the stage, then keeps and reports its results.
  void finish(std::vector<StageResult> results, double time_s) {
    watch_.end_stage(results, stage_measurements_);
    if (!options_.cancel->is_cancelled()) {
      for (RateFault& slow : judge_rates(stage_measurements_, rules_, result_.expectations)) {
        add_fault(results, std::move(slow));
      }
      const auto soaked = soak_ ? soak_->results() : std::vector<SoakedLoad>();
      for (RateFault& slow : judge_soak(soaked, rules_, result_.expectations))
        add_fault(results, std::move(slow));
    }
    for (StageMeasurement& measured : stage_measurements_)
      result_.measurements.push_back(std::move(measured));
    stage_measurements_.clear();
    for (StageResult& result : results) {
      if (result.time_s == 0) result.time_s = time_s;
      std::stable_sort(result.faults.begin(), result.faults.end(), is_worse);
      for (const Fault& fault : result.faults) {
        if (ends_device(fault.error)) lost_.emplace(result.device, result.stage);
      }
      result_.stages.push_back(std::move(result));
      if (options_.on_stage) options_.on_stage(result_.stages.back());
    }
  }

  static void add_fault(std::vector<StageResult>& results, RateFault slow) {
    auto owner = std::find_if(results.begin(), results.end(), [&](const StageResult& result) {
      return result.device == slow.device;
    });
    if (owner == results.end()) owner = results.begin();
    owner->faults.push_back(std::move(slow.fault));
    owner->status = StageStatus::failed;
  }

  std::optional<report::Measurement> again(const StageMeasurement& measured) {
    for (const std::string& id : measured.devices) {
      if (lost_.count(id) > 0) return {};
    }
    struct Again {
      std::mutex mutex;
      std::optional<report::Measurement> measured;
      std::optional<Error> error;
    };
    const auto shared = std::make_shared<Again>();
    const TaskEnd end =
        run_tasks({[shared, function = measured.again, step = measured.id](Heartbeat& heart) {
                    heart.step(step, again_patience);
                    std::optional<Error> error;
                    try {
                      report::Measurement made = function();
                      const std::lock_guard lock(shared->mutex);
                      shared->measured = std::move(made);
                      return;
                    } catch (const Error& thrown) {
                      error = thrown;
                    } catch (const std::exception& exception) {
                      error = base::to_error(exception);
                    }
                    const std::lock_guard lock(shared->mutex);
                    shared->error = std::move(error);
                  }},
                  options_.patience_s, *options_.cancel)
            .front();
    const std::lock_guard lock(shared->mutex);
    std::optional<report::Measurement> made = std::exchange(shared->measured, std::nullopt);
    std::optional<Error> error = made ? made->error : shared->error;
    if (end.is_left_behind) {
      result_.has_left_threads = true;
      hung_.insert(measured.devices.begin(), measured.devices.end());
      error = hang_error(measured, end);
    }
    if (end.is_left_behind || ends_device(error)) {
      for (const std::string& id : measured.devices) lost_.emplace(id, measured.stage);
    }
    if (!made && options_.cancel->is_cancelled()) return {};
    if (made || !error || is_beyond_device(*error)) return made;
    return failed_measurement(measured, *error);
  }

  Error hang_error(const StageMeasurement& measured, const TaskEnd& end) const {
    const std::string reason =
        fmt::format("no answer within {:g} s during: {}", options_.patience_s, end.step);
    const auto device = std::find_if(devices_.begin(), devices_.end(), [&](const Device& one) {
      return one.id() == measured.devices.front();
    });
    const Error error(ErrorCode::timed_out, "check", reason);
    return Error(ErrorCode::timed_out, "check", reason,
                 action_for_hang(device->platform(), options_.patience_s, error));
  }

  const std::vector<Device>& devices_;
  const CheckOptions& options_;
  CheckResult& result_;
  RateRules rules_;
  std::map<std::string, std::string> lost_;  ///< ids of devices, and the stage that lost them
  std::set<std::string> hung_;
  std::vector<StageMeasurement> stage_measurements_;
  std::shared_ptr<Soak> soak_;  ///< while it runs
  Heartbeat::Clock::time_point told_at_;
  StageWatch watch_;
};

}  // namespace

void run_check(const std::vector<Device>& devices, const CheckOptions& options,
               CheckResult& result) {
  CheckRun(devices, options, result).run();
}

}  // namespace hiptool::accept
