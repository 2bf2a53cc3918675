// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace hiptool::cli {

/// Reads an environment variable; absent when it is not set.
using GetEnvironment = std::function<std::optional<std::string>(const char* name)>;

/// One of the two streams a command line program writes to.
class TextStream {
 public:
  virtual ~TextStream() = default;
  /// Writes everything; 0 or the errno of the failure.
  virtual int write(std::string_view text) noexcept = 0;
  virtual bool is_terminal() const noexcept = 0;
  /// Columns of the terminal; absent where there is none.
  virtual std::optional<std::size_t> columns() const noexcept = 0;
};

/// A stream on a file descriptor that someone else owns.
class DescriptorStream final : public TextStream {
 public:
  explicit DescriptorStream(int descriptor) : descriptor_(descriptor) {}
  int write(std::string_view text) noexcept override;
  bool is_terminal() const noexcept override;
  std::optional<std::size_t> columns() const noexcept override;

 private:
  int descriptor_;
};

enum class ColorMode { automatic, always, never };

/// The only place that writes to the two standard streams: results to out, all else to err. Decides
/// once about colour, Unicode and width. A closed pipe on out ends the output quietly; any other
/// failure there is kept for finish(). Thread-safe.
class Console {
 public:
  Console(TextStream& out, TextStream& err, GetEnvironment environment);

  void out(std::string_view text);
  void err(std::string_view text);

  void set_color_mode(ColorMode mode) { color_mode_ = mode; }
  bool has_color_out() const { return has_color(out_); }
  bool has_color_err() const { return has_color(err_); }
  bool has_unicode() const noexcept { return has_unicode_; }
  /// The err stream can be drawn on: a terminal that knows how to clear a line.
  bool can_animate() const { return err_.is_terminal() && !is_dumb_; }
  std::size_t width_out() const { return width(out_); }
  std::size_t width_err() const { return width(err_); }

  /// The code the process ends with: the verdict's, or that of a failed output if out could not be
  /// written, which it then tells on err.
  int finish(int exit_code);

 private:
  bool has_color(const TextStream& stream) const;
  std::size_t width(const TextStream& stream) const;

  TextStream& out_;
  TextStream& err_;
  GetEnvironment environment_;
  ColorMode color_mode_ = ColorMode::automatic;
  bool has_unicode_;
  bool is_dumb_;
  bool is_out_closed_ = false;
  int out_error_ = 0;
  std::mutex mutex_;
};

/// Wraps text in a terminal style (SGR parameters such as "1;31") if colour is on.
std::string styled(std::string_view text, std::string_view style, bool color);

inline constexpr std::size_t most_line_bytes = 4096;
inline constexpr std::size_t most_text_bytes = std::size_t{64} << 10;  ///< a compiler's output

/// Text from files and people that is safe to show: report::printable() for each line, so that a
/// name cannot steer the terminal. Longer lines and texts are cut and end in "...".
std::string printable(std::string_view text, std::size_t line_bytes = most_line_bytes);

}  // namespace hiptool::cli
