// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "hiptool/cancel.hpp"

namespace hiptool::cli {

/// A model of 64 MiB of random contents in a temporary file that goes with the object.
class DemoModel {
 public:
  /// Throws what writing it failed with.
  explicit DemoModel(const CancelToken& cancel);
  ~DemoModel();
  DemoModel(const DemoModel&) = delete;
  DemoModel& operator=(const DemoModel&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hiptool::cli
