// SPDX-License-Identifier: MIT
#include "base/host_error.hpp"

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

namespace hiptool::base {
namespace {

constexpr const char* memory_hint = "close other programs or use a machine with more memory";

Error of_system(const std::system_error& failed) {
  const int number = failed.code().value();
  if (number == ENOMEM) {
    return Error(ErrorCode::host_out_of_memory, "run", "out of host memory", memory_hint);
  }
  // std::thread reports EAGAIN; no file of hiptool's is read without blocking.
  if (number == EAGAIN) {
    return Error(ErrorCode::host_failed, "start thread",
                 "no thread could be started: " + failed.code().message(),
                 "raise the limit of processes (`ulimit -u`; pids.max of a container or service)");
  }
  return Error(ErrorCode::host_failed, "run", failed.what(), hint_of_read(number));
}

}  // namespace

Error to_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return Error(ErrorCode::host_out_of_memory, "run", "out of host memory", memory_hint);
  }
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&exception)) {
    const int number = file->code().value();
    return Error(code_of_read(number), "read",
                 "cannot read " + file->path1().string() + ": " + file->code().message(),
                 hint_of_read(number));
  }
  if (const auto* failed = dynamic_cast<const std::system_error*>(&exception)) {
    return of_system(*failed);
  }
  return Error(ErrorCode::internal, "run", std::string("internal error: ") + exception.what(),
               "this is a bug in hiptool; please report it with the output of --verbose");
}

ErrorCode code_of_read(int number) noexcept {
  if (number == EIO) return ErrorCode::host_failed;
  return number == ENOMEM ? ErrorCode::host_out_of_memory : ErrorCode::input_failed;
}

std::string hint_of_read(int number) {
  switch (number) {
    case ENOENT: return "check the spelling of the path";
    case EACCES: return "check the file's permissions with `ls -l`";
    case ELOOP: return "its links lead in a circle; link it to the file again";
    case EMFILE: return "raise the limit of open files with `ulimit -n`";
    case EIO:
      return "the disk or its network failed: see `sudo dmesg | tail`, copy the file elsewhere";
    default: return {};
  }
}

}  // namespace hiptool::base
