// SPDX-License-Identifier: MIT
/// Stable codes of findings: what each means, what to do, and which class of action that is. One
/// table (codes.def, xids.def) serves the program, its documents, docs/codes.md and the tests.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::machine {

/// What repairs a finding, so that a program can act on it. `config` is anything that is set or
/// plugged: settings, software, cooling, cables, slots.
enum class Action { none, retry, config, reset_gpu, reboot, replace };

/// "none", "retry", "config", "reset-gpu", "reboot" or "replace".
std::string_view to_string(Action action) noexcept;

/// One code.
struct CodeInfo {
  std::string code;  ///< "HT-COPY-RATE"; never given to another finding
  Action action = Action::none;
  std::string title;
  std::string meaning;
  std::string advice;  ///< what to do
};

/// The texts of the codes, for those that report them: `codes::copy_rate` is "HT-COPY-RATE".
namespace codes {
#define CODE(name, text, action, title, meaning, advice) inline constexpr const char* name = text;
#include "machine/codes.def"
#undef CODE
}  // namespace codes

/// All codes: of codes.def in its order, then of amdgpu's messages and of
/// NVIDIA's Xids.
const std::vector<CodeInfo>& all_codes();

/// Null for a text that is not a code.
const CodeInfo* find_code(std::string_view code);

/// The class of action of a code, as documents have it; empty for a text that is not a code.
std::string action_class_of(std::string_view code);

/// "HT-XID-79"; HT-XID-OTHER for a number that the catalogue lacks.
std::string code_of_xid(int number);

/// The code of a check of the doctor that has one code only: "HT-LINK-DOWN" of "link-down".
std::string code_of_check(std::string_view id);

/// The page of all codes, as Markdown: docs/codes.md.
std::string codes_text();

/// One code for a terminal: title, meaning, advice, class of action.
std::string code_text(const CodeInfo& code);

}  // namespace hiptool::machine
