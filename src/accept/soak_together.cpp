// SPDX-License-Identifier: MIT
#include "accept/soak_together.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "accept/soak_loads.hpp"
#include "accept/workers.hpp"
#include "base/host_error.hpp"
#include "hiptool/error.hpp"

namespace hiptool::accept {
namespace {

/// A kernel, a type and a size.
struct TogetherJob {
  measure::KernelFamily family;
  std::string dtype;
  std::uint64_t size_bytes = 0;  ///< 0: the usual one of a device
};

/// What a thread that may be left behind hands over.
struct DeviceShare {
  std::mutex mutex;
  measure::KernelResult result;
  std::optional<SoakedLoad> soaked;
};

std::vector<TogetherJob> jobs_of(const measure::KernelBenchOptions& bench) {
  std::vector<std::uint64_t> sizes = bench.sizes_bytes;
  if (sizes.empty()) sizes = {0};
  std::vector<TogetherJob> jobs;
  for (const measure::KernelFamily& family : chosen_kernels(bench)) {
    for (const std::string& dtype : family.dtypes) {
      for (const std::uint64_t size : sizes) jobs.push_back({family, dtype, size});
    }
  }
  return jobs;
}

void name_together(const TogetherJob& job, measure::KernelResult& result) {
  if (measure::has_size(job.family.name)) result.size_word = report::size_word(result.size_bytes);
  result.id = label_of(result) + "@" + result.destination;
  result.set_names();
  result.series = job.family.name + "." + job.dtype;
}

measure::KernelResult planned_result(const TogetherJob& job, const Device& device) {
  measure::KernelResult result;
  result.kernel = job.family.name;
  result.kind = job.family.is_operation ? "operation" : "kernel";
  result.destination = device.id();
  result.dtype = job.dtype;
  result.layout = job.family.is_operation ? "packed" : "";
  result.size_bytes = job.size_bytes > 0
                          ? job.size_bytes
                          : defaults_of(job.family, device.is_host_memory()).size_bytes;
  name_together(job, result);
  return result;
}

/// Wrong data that it had before remain its result.
void note_end(const Error& error, measure::KernelResult& result) {
  if (result.status == report::Status::mismatch) {
    result.reason += fmt::format("; then {}", error.what());
  } else {
    note_failure(result, error);
  }
}

/// Takes over what a soak measured.
void fill_result(const SoakedLoad& soaked, const measure::KernelLoad& kernel,
                 measure::KernelResult& result) {
  const report::Measurement measured = measurement_of(soaked);
  result.size_bytes = kernel.size_bytes();
  result.elements = kernel.elements();
  result.tolerance = kernel.tolerance();
  result.checked = measured.checked;
  result.max_error = measured.max_error;
  result.samples_s = measured.samples_s;
  result.median_s = measured.median_s;
  result.bytes_per_s = measured.bytes_per_s;
  if (measured.median_s && kernel.flops_of_run() > 0) {
    result.flops_per_s = kernel.flops_of_run() / *measured.median_s;
  }
  result.status = measured.status;
  result.wrong = measured.wrong;
  result.reason = measured.reason;
}

void run_share(const TogetherJob& job, const Device& device, std::uint64_t seed, Soak& soak,
               DeviceShare& share, Heartbeat& heart) {
  Soak::Place place(soak);
  measure::KernelResult result;
  {
    const std::lock_guard lock(share.mutex);
    result = share.result;
  }
  std::optional<SoakedLoad> soaked;
  try {
    heart.step("the first run of " + result.id, 3);
    auto load = std::make_unique<KernelSoak>(job.family.name, result.label, false);
    KernelSoak& kernel = *load;
    load->add(device, {job.family.name, job.dtype, result.size_bytes, seed});
    result.size_bytes = kernel.kernel().size_bytes();
    name_together(job, result);
    load->set_label(result.label);
    const auto on_wrong = [&](const SoakedLoad& so_far) {
      fill_result(so_far, kernel.kernel(), result);
      const std::lock_guard lock(share.mutex);
      share.result = result;
    };
    SoakRound first = load->begin_kernels();
    if (!first.is_right()) on_wrong(wrong_first(*load, first, device));
    std::vector<std::unique_ptr<SoakLoad>> loads;
    loads.push_back(std::move(load));
    soaked =
        place.run(device.id(), loads, heart, first.is_right() ? on_wrong : Soak::OnWrong()).front();
    if (!first.is_right()) {
      ++soaked->wrong_rounds;
      soaked->first_wrong = std::move(first);
      soaked->first_wrong_at_s = 0;
    }
    fill_result(*soaked, kernel.kernel(), result);
  } catch (const Error& error) {
    note_end(error, result);
  } catch (const std::exception& exception) {
    note_end(base::to_error(exception), result);
  }
  const std::lock_guard lock(share.mutex);
  share.result = std::move(result);
  share.soaked = std::move(soaked);
}

/// Runs the jobs one after the other.
class Together {
 public:
  Together(const std::vector<Device>& devices, const TogetherOptions& options)
      : devices_(devices), options_(options) {
    rules_.spread = options.spread;
    for (const Device& device : devices) rules_.devices[device.id()] = device.info();
  }

  void run(const TogetherJob& job) {
    std::vector<Device> devices;
    std::copy_if(devices_.begin(), devices_.end(), std::back_inserter(devices),
                 [this](const Device& one) { return hung_.count(one.id()) == 0; });
    const auto soak =
        std::make_shared<Soak>(Soak::Options{plan_soak(options_.time_s, false), devices.size(),
                                             options_.patience_s, options_.bench.cancel});
    std::vector<std::shared_ptr<DeviceShare>> shares;
    std::vector<Task> tasks;
    for (const Device& device : devices) {
      shares.push_back(std::make_shared<DeviceShare>());
      shares.back()->result = planned_result(job, device);
      tasks.push_back(
          [job, device, seed = options_.bench.seed, soak, share = shares.back()](Heartbeat& heart) {
            run_share(job, device, seed, *soak, *share, heart);
          });
    }
    const auto on_look = [&](const std::function<std::string(std::size_t)>&) {
      if (!options_.on_progress) return;
      std::vector<std::pair<std::string, std::string>> texts;
      for (const Device& device : devices) {
        texts.emplace_back(device.id(), soak->text_of(device.id()));
      }
      options_.on_progress(job.family.name + "." + job.dtype, texts);
    };
    const std::vector<TaskEnd> ends =
        run_tasks(tasks, options_.patience_s, *options_.bench.cancel, on_look);
    std::vector<SoakedLoad> soaked;
    for (std::size_t i = 0; i < shares.size(); ++i) keep(ends[i], *shares[i], soaked);
    if (options_.bench.cancel->is_cancelled()) return;
    ExpectationResults none;
    for (RateFault& slow : judge_soak(soaked, rules_, none)) {
      result_.faults.push_back(std::move(slow.fault));
    }
  }

  TogetherResult take() { return std::move(result_); }

 private:
  void keep(const TaskEnd& end, DeviceShare& share, std::vector<SoakedLoad>& soaked) {
    const std::lock_guard lock(share.mutex);
    measure::KernelResult result = share.result;
    if (end.is_left_behind) {
      result_.has_left_threads = true;
      hung_.insert(result.destination);
      if (!options_.bench.cancel->is_cancelled()) {
        note_end(
            Error(ErrorCode::timed_out, "run kernels",
                  fmt::format("no answer within {:g} s during: {}", options_.patience_s, end.step)),
            result);
      }
    }
    if (share.soaked) {
      soaked.push_back(*share.soaked);
      result_.soaked.push_back(*share.soaked);
    }
    // Of one that an interrupt kept from its first run nothing is known.
    const bool has_nothing = result.status == report::Status::ok && !result.median_s;
    if (has_nothing && options_.bench.cancel->is_cancelled()) return;
    if (has_nothing) {
      result.status = report::Status::skipped;
      result.reason = "no run ended within " + std::to_string(options_.time_s) + " s";
    }
    result_.results.push_back(std::move(result));
  }

  const std::vector<Device>& devices_;
  const TogetherOptions& options_;
  RateRules rules_;
  std::set<std::string> hung_;
  TogetherResult result_;
};

}  // namespace

TogetherResult run_together(const std::vector<Device>& devices, const TogetherOptions& options) {
  Together together(devices, options);
  for (const TogetherJob& job : jobs_of(options.bench)) {
    if (options.bench.cancel->is_cancelled()) break;
    together.run(job);
  }
  return together.take();
}

}  // namespace hiptool::accept
