// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace hiptool::cli {

/// Reads an environment variable; absent if it is not set.
using GetEnvironment = std::function<std::optional<std::string>(const char* name)>;

/// The same variables, of which an empty one counts as unset, except for variables of the vendors'
/// runtimes that hide every device when they are empty.
GetEnvironment without_empty(GetEnvironment environment);

/// Standard output or standard error.
class TextStream {
 public:
  virtual ~TextStream() = default;
  /// Writes everything; 0 or the errno of the failure.
  virtual int write(std::string_view text) noexcept = 0;
  virtual bool is_terminal() const noexcept = 0;
  /// Columns of the terminal; absent if the stream is not one.
  virtual std::optional<std::size_t> columns() const noexcept = 0;
  /// Lines of the terminal; absent if the stream is not one.
  virtual std::optional<std::size_t> rows() const noexcept { return {}; }
};

/// A stream on a borrowed file descriptor.
class DescriptorStream final : public TextStream {
 public:
  explicit DescriptorStream(int descriptor) : descriptor_(descriptor) {}
  int write(std::string_view text) noexcept override;
  bool is_terminal() const noexcept override;
  std::optional<std::size_t> columns() const noexcept override;
  std::optional<std::size_t> rows() const noexcept override;

 private:
  int descriptor_;
};

enum class ColorMode { automatic, always, never };

/// The only writer to standard output (results) and standard error (everything else); decides about
/// colour, Unicode and width. If the reader of out closes its pipe, output ends quietly; any other
/// failure of out is kept for finish(). Thread-safe.
class Console {
 public:
  using Clock = std::chrono::steady_clock;

  Console(TextStream& out, TextStream& err, GetEnvironment environment,
          std::function<Clock::time_point()> now = Clock::now);

  void out(std::string_view text);
  void err(std::string_view text);

  /// What the run does from now on, for beat(): "starting the devices". An empty name means the
  /// run as a whole, which the first call names. A detail, such as "43 %", may change often.
  void set_step(const std::string& name, std::string detail = {});

  /// The run is to end: beat() says for how long it has been stopping, and in which step it still
  /// is.
  void set_stopping();
  /// Something else shows that the run goes on, which counts as text on err.
  void postpone_beat();
  /// A sign of life where nothing was written for long: on a terminal the step and its time in a
  /// line that the next text replaces, after 1.5 s and from then on each second; elsewhere a line a
  /// minute. Returns when to call it again; absent: never, because results are being written.
  std::optional<Clock::time_point> beat();

  void set_color_mode(ColorMode mode) { color_mode_ = mode; }
  bool has_color_out() const { return has_color(out_); }
  bool has_color_err() const { return has_color(err_); }
  bool has_unicode() const noexcept { return has_unicode_; }
  bool is_terminal_out() const { return out_.is_terminal(); }
  /// err is a terminal that can clear a line.
  bool can_animate() const { return err_.is_terminal() && !is_dumb_; }
  /// out is a terminal that can place text anywhere.
  bool can_draw_out() const { return out_.is_terminal() && !is_dumb_; }
  /// False after a failed write to out, also where its reader is gone.
  bool can_write_out();
  /// Columns of the terminal. Where out is not a terminal, a width at which nothing is wrapped or
  /// cut. COLUMNS makes both narrower, never wider.
  std::size_t width_out() const { return width(out_); }
  std::size_t height_out() const;
  std::size_t width_err() const { return width(err_); }

  /// The exit code of the process: the verdict's, or the one of a failed output if writing to out
  /// failed (then with a message on err) and that is worse.
  int finish(int exit_code);

 private:
  bool has_color(const TextStream& stream) const;
  std::size_t width(const TextStream& stream) const;
  void clear_beat();
  std::string step_text() const;

  TextStream& out_;
  TextStream& err_;
  GetEnvironment environment_;
  ColorMode color_mode_ = ColorMode::automatic;
  bool has_unicode_;
  bool is_dumb_;
  bool is_out_closed_ = false;
  int out_error_ = 0;
  std::function<Clock::time_point()> now_;
  std::string run_name_;
  std::string step_;
  std::string step_detail_;
  Clock::time_point step_started_;
  std::optional<Clock::time_point> stopping_since_;
  Clock::time_point written_at_;
  bool has_results_ = false;    ///< out got some
  bool is_beat_shown_ = false;  ///< on the last line of a terminal
  std::mutex mutex_;
};

/// "12 s", "1:05 min", "2:10 h": whole seconds, since tenths would change too fast to read.
std::string whole_time(double seconds);

/// The width of a pipe: nothing is wrapped or cut.
inline constexpr std::size_t unlimited_columns = 1'000'000;

/// Wraps text in a terminal style (SGR parameters such as "1;31") if colour is on.
std::string styled(std::string_view text, std::string_view style, bool color);

}  // namespace hiptool::cli
