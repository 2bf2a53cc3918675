// SPDX-License-Identifier: MIT
#include "hip/load_error.hpp"

#include <doctest/doctest.h>

#include "base/dynamic_library.hpp"

namespace hiptool::hip {

TEST_CASE("the loader's sentences are told apart") {
  const std::string no_file = ": cannot open shared object file: No such file or directory";
  CHECK(classify_load_error("libx.so.1", "libx.so.1" + no_file) == LoadError::not_found);
  CHECK(classify_load_error("libx.so.1", "libhsa-runtime64.so.1" + no_file) ==
        LoadError::dependency_missing);
  CHECK(classify_load_error("libx.so.1", "libx.so.1: invalid ELF header") == LoadError::refused);
  CHECK(missing_dependency("libhsa-runtime64.so.1" + no_file) == "libhsa-runtime64.so.1");
  CHECK(describe_attempt("libx.so.1", "libx.so.1: file too short") == "libx.so.1: file too short");
  CHECK(describe_attempt("libx.so.1", "undefined symbol") == "libx.so.1: undefined symbol");
}

TEST_CASE("this system's loader speaks as expected of a file that is nowhere") {
  const std::string name = "libhiptool-nowhere.so.9";
  std::string sentence;
  CHECK_FALSE(base::DynamicLibrary::open(name, sentence));
  CHECK(classify_load_error(name, sentence) == LoadError::not_found);
}

}  // namespace hiptool::hip
