// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "accept/check.hpp"
#include "cli/output/console.hpp"
#include "hiptool/cancel.hpp"

namespace hiptool::cli {

/// How far a check is, on standard error: on a terminal one line for each device, overwritten and
/// cleared at the end; otherwise one line for each finished stage, and of a stage that takes long
/// one each minute; nothing if quiet. After an
/// interrupt, whose message moves the cursor, the lines stay as they are.
class CheckProgress {
 public:
  CheckProgress(Console& console, bool quiet, const CancelToken& cancel);
  ~CheckProgress();
  CheckProgress(const CheckProgress&) = delete;
  CheckProgress& operator=(const CheckProgress&) = delete;

  /// The devices are chosen, and the stages to run on each.
  void begin(const std::vector<std::string>& devices, std::vector<std::string> stages);
  void on_stage(const accept::StageResult& stage);
  /// What the devices do now; once a second.
  void on_progress(const accept::StageProgress& progress);

 private:
  struct Row {
    std::string device;
    std::size_t passed = 0;
    std::vector<std::string> failed;
    std::string now;   ///< empty: done with all
    std::string step;  ///< of that stage; empty: not known

    std::string text(std::size_t stages) const;
  };

  void draw();
  void clear();
  bool can_draw() const;

  Console& console_;
  bool is_quiet_;
  const CancelToken& cancel_;
  std::vector<std::string> stages_;
  std::vector<Row> rows_;
  std::string told_stage_;  ///< of which minutes were told
  double told_minutes_ = 0;
  std::size_t drawn_lines_ = 0;
};

}  // namespace hiptool::cli
