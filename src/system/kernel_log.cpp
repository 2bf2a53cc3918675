// SPDX-License-Identifier: MIT
#include "system/kernel_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/descriptor.hpp"

namespace hiptool::system {
namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 20;
constexpr std::size_t most_read_bytes = std::size_t{64} << 20;  // of a log that grows meanwhile

/// Keeps the newest records.
void drop_oldest(std::string& text) {
  if (text.size() <= most_bytes) return;
  const auto line_end = text.find('\n', text.size() - most_bytes);
  text.erase(0, line_end == std::string::npos ? text.size() : line_end + 1);
}

// The device gives one record for each read, a file of a tree as many as fit.
std::optional<std::string> read_all(int descriptor) {
  std::string text;
  std::array<char, 8192> part;
  std::size_t read_bytes = 0;
  while (read_bytes < most_read_bytes) {
    const ssize_t got = ::read(descriptor, part.data(), part.size());
    if (got > 0) {
      text.append(part.data(), static_cast<std::size_t>(got));
      read_bytes += static_cast<std::size_t>(got);
      if (text.size() > 2 * most_bytes) drop_oldest(text);
      continue;
    }
    if (got == 0 || errno == EAGAIN) break;
    // EPIPE: records were overwritten meanwhile; the next read continues after them.
    if (errno != EPIPE && errno != EINTR) return std::nullopt;
  }
  drop_oldest(text);
  return text;
}

/// The second of the numbers before the message, "6,339,5140900,-;..."; 0 where there is none.
std::uint64_t sequence_of(std::string_view record) {
  const auto comma = record.find(',');
  if (comma == std::string_view::npos) return 0;
  std::uint64_t number = 0;
  std::from_chars(record.data() + comma + 1, record.data() + record.size(), number);
  return number;
}

}  // namespace

std::string_view message_of(std::string_view record) {
  const auto semicolon = record.find(';');
  const bool is_record = !record.empty() && record.front() >= '0' && record.front() <= '9';
  if (!is_record || semicolon == std::string_view::npos) return {};
  return record.substr(semicolon + 1);
}

std::optional<std::vector<KernelMessage>> read_kernel_messages(const std::filesystem::path& root) {
  const base::Descriptor log(
      ::open((root / "dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!log.is_open()) return {};
  const auto text = read_all(log.get());
  if (!text) return {};
  std::vector<KernelMessage> messages;
  for (std::size_t start = 0; start < text->size();) {
    const std::size_t end = std::min(text->find('\n', start), text->size());
    const auto record = std::string_view(*text).substr(start, end - start);
    const auto message = message_of(record);
    if (!message.empty()) messages.push_back({sequence_of(record), std::string(message)});
    start = end + 1;
  }
  return messages;
}

std::optional<std::vector<std::string>> read_kernel_log(const std::filesystem::path& root) {
  const auto messages = read_kernel_messages(root);
  if (!messages) return {};
  std::vector<std::string> texts;
  for (const KernelMessage& message : *messages) texts.push_back(message.text);
  return texts;
}

}  // namespace hiptool::system
