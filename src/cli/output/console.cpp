// SPDX-License-Identifier: MIT
#include "cli/output/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "hiptool/error.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

constexpr std::size_t default_columns = 80;
constexpr std::size_t default_rows = 24;
// The first one is seen within two seconds of the last text.
constexpr std::chrono::milliseconds pause_before_beat{1500};
constexpr std::chrono::seconds pause_of_beats{1};
constexpr std::chrono::seconds pause_elsewhere{60};

std::string value_of(const GetEnvironment& environment, const char* name) {
  return environment(name).value_or("");
}

// The first of the three variables that is not empty decides, as in setlocale.
bool is_utf8_locale(const GetEnvironment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = value_of(environment, name);
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

bool is_dumb_terminal(const GetEnvironment& environment) {
  const std::string term = value_of(environment, "TERM");
  return term.empty() || term == "dumb";
}

}  // namespace

int DescriptorStream::write(std::string_view text) noexcept {
  return base::write_all(descriptor_, text);
}

bool DescriptorStream::is_terminal() const noexcept { return ::isatty(descriptor_) == 1; }

std::optional<std::size_t> DescriptorStream::columns() const noexcept {
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return size.ws_col;
}

std::optional<std::size_t> DescriptorStream::rows() const noexcept {
  winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return {};
  return size.ws_row;
}

GetEnvironment without_empty(GetEnvironment environment) {
  return [environment = std::move(environment)](const char* name) {
    std::optional<std::string> value = environment(name);
    const std::string_view variable = name;
    const bool hides_devices =
        variable.ends_with("_VISIBLE_DEVICES") || variable == "GPU_DEVICE_ORDINAL";
    if (value && value->empty() && !hides_devices) value.reset();
    return value;
  };
}

Console::Console(TextStream& out, TextStream& err, GetEnvironment environment,
                 std::function<Clock::time_point()> now)
    : out_(out),
      err_(err),
      environment_(without_empty(std::move(environment))),
      has_unicode_(is_utf8_locale(environment_)),
      is_dumb_(is_dumb_terminal(environment_)),
      now_(std::move(now)),
      step_started_(now_()),
      written_at_(step_started_) {}

void Console::out(std::string_view text) {
  const std::lock_guard lock(mutex_);
  has_results_ = has_results_ || !text.empty();
  clear_beat();
  if (is_out_closed_ || out_error_ != 0) return;
  const int error = out_.write(text);
  if (error == EPIPE) {
    is_out_closed_ = true;
  } else {
    out_error_ = error;
  }
}

// A failure to write to the error stream cannot be reported anywhere.
void Console::err(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_beat();
  written_at_ = now_();
  static_cast<void>(err_.write(text));
}

void Console::set_step(const std::string& name, std::string detail) {
  const std::lock_guard lock(mutex_);
  if (run_name_.empty()) run_name_ = name;
  const std::string& step = name.empty() ? run_name_ : name;
  if (step != step_) step_started_ = now_();
  step_ = step;
  step_detail_ = std::move(detail);
}

void Console::set_stopping() {
  const std::lock_guard lock(mutex_);
  if (!stopping_since_) stopping_since_ = now_();
}

void Console::postpone_beat() {
  const std::lock_guard lock(mutex_);
  written_at_ = now_();
}

std::string Console::step_text() const {
  const std::chrono::duration<double> elapsed = now_() - stopping_since_.value_or(step_started_);
  const std::string time = whole_time(elapsed.count());
  const std::string step = step_ + (step_detail_.empty() ? "" : ", " + step_detail_);
  if (!stopping_since_) return step + ", " + time;
  return "stopping, " + time + (step_ == run_name_ ? "" : "; still in: " + step);
}

std::optional<Console::Clock::time_point> Console::beat() {
  const std::lock_guard lock(mutex_);
  if (has_results_) return std::nullopt;
  const bool animates = can_animate();
  const Clock::duration pause = !animates        ? Clock::duration(pause_elsewhere)
                                : is_beat_shown_ ? Clock::duration(pause_of_beats)
                                                 : Clock::duration(pause_before_beat);
  const Clock::time_point now = now_();
  if (now < written_at_ + pause) return written_at_ + pause;
  written_at_ = now;
  const std::string text = report::printable(step_text());
  if (!animates) {
    static_cast<void>(err_.write(text + "\n"));
    return now + pause_elsewhere;
  }
  // A line that fills all columns would take two on some terminals.
  const std::size_t width = std::max<std::size_t>(width_err(), 2) - 1;
  static_cast<void>(err_.write("\r\x1b[K" + report::shorten(text, width)));
  is_beat_shown_ = true;
  return now + pause_of_beats;
}

void Console::clear_beat() {
  if (is_beat_shown_) static_cast<void>(err_.write("\r\x1b[K"));
  is_beat_shown_ = false;
}

bool Console::has_color(const TextStream& stream) const {
  if (color_mode_ != ColorMode::automatic) return color_mode_ == ColorMode::always;
  if (!value_of(environment_, "NO_COLOR").empty()) return false;
  const std::string force = value_of(environment_, "CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return stream.is_terminal() && !is_dumb_;
}

std::size_t Console::width(const TextStream& stream) const {
  const std::size_t own =
      stream.is_terminal() ? stream.columns().value_or(default_columns) : unlimited_columns;
  const auto columns = base::parse_number<std::size_t>(value_of(environment_, "COLUMNS"));
  return columns && *columns > 0 ? std::min(*columns, own) : own;
}

bool Console::can_write_out() {
  const std::lock_guard lock(mutex_);
  return !is_out_closed_ && out_error_ == 0;
}

std::size_t Console::height_out() const {
  const auto rows = base::parse_number<std::size_t>(value_of(environment_, "LINES"));
  if (rows && *rows > 0) return *rows;
  return out_.rows().value_or(default_rows);
}

int Console::finish(int exit_code) {
  if (out_error_ == 0) return exit_code;
  err(styled("error:", "1;31", has_color_err()) + " cannot write to standard output: " +
      std::generic_category().message(out_error_) + "\n" + styled("hint:", "36", has_color_err()) +
      " free disk space or redirect the output to another place\n");
  return worse_of(exit_code, exit_code_of(ErrorCode::output_failed));
}

std::string whole_time(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 359999.0));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole % 3600 / 60);
}

std::string styled(std::string_view text, std::string_view style, bool color) {
  if (!color) return std::string(text);
  return "\x1b[" + std::string(style) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace hiptool::cli
