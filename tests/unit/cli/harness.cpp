// SPDX-License-Identifier: MIT
#include "harness.hpp"
#include "core/platform_state.hpp"

#include <algorithm>
#include <fstream>

namespace hiptool::cli::testing {

int Machine::run(const std::vector<std::string>& words) {
  std::vector<const char*> argv{"hiptool"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  out.text.clear();
  err.text.clear();
  Console console(out, err, reader_of(variables));
  Environment environment{
      console,
      cancel,
      [this] { return signal; },
      [this](Platforms::Options options) {
        ++platforms_made;
        auto chosen = binder ? binder : std::make_shared<FakeBinder>(gpus);
        return std::make_unique<Platforms>(core::make_platforms(std::move(options), chosen));
      },
      reader_of(variables),
      [this](const char* name, const std::string& value) { changed_variables[name] = value; },
      {},
      system_root};
  return cli::run(static_cast<int>(argv.size()), argv.data(), environment);
}

std::string screen_of(std::vector<std::string> words, std::optional<std::size_t> columns,
                      int exit_code) {
  Machine machine;
  machine.variables.erase("COLUMNS");
  for (CaptureStream* const stream : {&machine.out, &machine.err}) {
    stream->terminal = columns.has_value();
    stream->width = columns;
  }
  words.insert(words.end(), {"--color", "never"});
  const int code = machine.run(words);
  if (code != exit_code) throw std::runtime_error(machine.err.text);
  return exit_code == 2 ? machine.err.text : machine.out.text;
}

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  std::size_t columns = 0;
  for (const char c : text) {
    const bool is_continuation = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    columns = c == '\n' ? 0 : columns + (is_continuation ? 0 : 1);
    widest = std::max(widest, columns);
  }
  return widest;
}

std::string start_of(const std::string& path, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace hiptool::cli::testing
