// SPDX-License-Identifier: MIT
/// What our binding finds of one of AMD's libraries and what its start answers; one "key value" in
/// a line, for real_libraries.py.
///
/// Usage: amd_library_report rocblas | rocblas-hipblaslt | hipblaslt | miopen
#include <cstdio>
#include <string>

#include "hip/blas.hpp"
#include "hip/dnn.hpp"

using namespace hiptool;

namespace {

void say(const char* key, const std::string& value) {
  std::printf("%s %s\n", key, value.c_str());
  std::fflush(stdout);  // the next call may end the process
}

template <class Library>
int report(const Library& library) {
  say("name", library.name);
  say("path", library.path);
  say("version", library.version);
  say("reason", library.reason);
  if (library.api == nullptr) return 0;
  void* handle = nullptr;
  const int status = library.api->open(handle);
  say("status", std::to_string(status));
  say("text", library.api->error_text(status));
  say("has_handle", handle != nullptr ? "1" : "0");
  if (handle != nullptr) library.api->close(handle);
  say("closed", "1");
  return 0;
}

int report_blas(hip::BlasKind kind) {
  const hip::BlasLibrary& library = hip::find_blas(kind);
  std::string targets;
  for (const std::string& target : library.targets) {
    targets += (targets.empty() ? "" : " ") + target;
  }
  say("targets", targets);
  return report(library);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "miopen") return report(hip::find_dnn(hip::DnnKind::miopen));
  for (const hip::BlasKind kind : hip::list_blas(Platform::amd)) {
    if (name == to_string(kind)) return report_blas(kind);
  }
  std::fprintf(stderr, "unknown library: %s\n", name.c_str());
  return 2;
}
