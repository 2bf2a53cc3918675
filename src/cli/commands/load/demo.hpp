// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "base/temporary_folder.hpp"
#include "hiptool/cancel.hpp"

namespace hiptool::cli {

/// A model of 64 MiB of random contents in a temporary folder that goes with the object.
class DemoModel {
 public:
  /// Throws what writing it failed with.
  explicit DemoModel(const CancelToken& cancel);
  DemoModel(const DemoModel&) = delete;
  DemoModel& operator=(const DemoModel&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  base::TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace hiptool::cli
