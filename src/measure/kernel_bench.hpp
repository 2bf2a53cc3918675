// SPDX-License-Identifier: MIT
/// The benchmark of the built-in kernels: every run is checked, timed and rated.
#pragma once
#include <vector>

#include "hiptool/device.hpp"
#include "measure/kernel/family.hpp"

namespace hiptool::measure {

/// Every kernel and operation, in the order in which they run. Opens no driver.
std::vector<KernelFamily> list_kernels();

KernelDefaults defaults_of(const KernelFamily& family, bool is_host_memory);

/// The families that the options choose, each with the requested types that it has, maybe none.
/// Opens no driver. Throws as run_kernels() does.
std::vector<KernelFamily> chosen_kernels(const KernelBenchOptions& options);

/// Runs the chosen kernels on one device and returns a result for every family, type and size, in
/// order; one that cannot run there is skipped with the reason. A kernel rounds a size to one that
/// it supports, down where it has a shape, and runs once for sizes that are rounded to the same. A
/// mismatch or a failed call ends only that run; after an error that the device does not recover
/// from the remaining runs fail too. Blocks; when cancelled it returns the results so far.
///
/// Throws Error(not_found) for an unknown name, and Error(invalid_argument) for an unknown type,
/// one that none of the kernels has, a size of 0, or a share outside 0..1; before anything runs.
std::vector<KernelResult> run_kernels(const KernelBenchOptions& options, const Device& device);

}  // namespace hiptool::measure
