// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accept/soak.hpp"
#include "accept/stages.hpp"
#include "hiptool/device.hpp"
#include "measure/kernel_load.hpp"

namespace hiptool::accept {

/// One kernel, or several in turn, as a load of a soak.
class KernelSoak final : public SoakLoad {
 public:
  KernelSoak(std::string name, std::string label, bool has_pulses);

  /// Takes memory; see KernelLoad. One at least.
  void add(const Device& device, const measure::KernelLoadOptions& options);
  void set_label(std::string label) { label_ = std::move(label); }
  /// The first run of each, judged in full. Blocks.
  SoakRound begin_kernels();

  std::string name() const override { return name_; }
  std::string label() const override { return label_; }
  bool counts_operations() const override { return kernels_.front()->bytes_of_run() == 0; }
  bool has_pulses() const override { return has_pulses_; }
  SoakRound run(double time_s) override;

  const measure::KernelLoad& kernel() const { return *kernels_.front(); }

 private:
  std::string name_;
  std::string label_;
  bool has_pulses_;
  std::vector<std::unique_ptr<measure::KernelLoad>> kernels_;
  std::size_t next_ = 0;
};

/// A load whose first results were wrong, before the soak began.
SoakedLoad wrong_first(const SoakLoad& load, SoakRound round, const Device& device);

/// Adds a fault for a load whose first results were wrong.
void judge_first(const SoakLoad& load, SoakRound round, const Device& device, StageWork& work);

/// "products 512 TFLOP/s (498 TFLOP/s to 520 TFLOP/s)"; empty without a rate.
std::string soak_figure(const SoakedLoad& soaked);

}  // namespace hiptool::accept
