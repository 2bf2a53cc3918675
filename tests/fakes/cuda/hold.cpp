// SPDX-License-Identifier: MIT
#include "fakes/cuda/hold.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "fakes/common/settings.hpp"

namespace hiptool::fake {
namespace {

int open_pipe(const char* name, int flags) {
  const std::string path = text_from("FAKE_CUDA_HOLD_FOLDER", ".") + "/" + name;
  return ::open(path.c_str(), flags | O_CLOEXEC);
}

// Of "one|other" each word is a name.
bool is_among(const std::string& name, const std::string& names) {
  return ("|" + names + "|").find("|" + name + "|") != std::string::npos;
}

}  // namespace

void hold(const std::string& name) {
  static const std::string wanted = text_from("FAKE_CUDA_HOLD", "");
  static std::atomic<int> calls{0};
  const auto colon = wanted.find(':');
  if (wanted.empty() || !is_among(name, wanted.substr(0, colon))) return;
  const int held = colon == std::string::npos ? 1 : std::atoi(wanted.c_str() + colon + 1);
  const int call = ++calls;
  if (call < held) return;
  if (std::getenv("FAKE_CUDA_HOLD_FOLDER") == nullptr) {
    for (;;) ::pause();
  }
  static const int reached = open_pipe("reached", O_WRONLY | O_NONBLOCK);
  char byte = 0;
  if (::write(reached, &byte, 1) != 1 || call > held) return;
  const int go = open_pipe("go", O_RDONLY);
  while (::read(go, &byte, 1) < 0 && errno == EINTR) {
  }
  ::close(go);
}

}  // namespace hiptool::fake
