// SPDX-License-Identifier: MIT
#include "model/name_index.hpp"

#include <doctest/doctest.h>

#include <string>

#include "hiptool/model_file.hpp"
#include "model/element_types.hpp"

using namespace hiptool;

TEST_CASE("names are found while the vector grows") {
  const ElementType type(model::find_gguf_type("F32")->entry);
  std::vector<TensorInfo> tensors;
  model::NameIndex<TensorInfo> index;
  CHECK(index.find(tensors, "0") == nullptr);
  for (std::size_t number = 0; number < 1000; ++number) {
    tensors.push_back({std::to_string(number), type, {}, 0, number, 0, 1});
    CHECK(index.insert(tensors, number));
  }
  for (std::size_t number = 0; number < 1000; ++number) {
    CHECK(index.find(tensors, std::to_string(number)) == &tensors[number]);
  }
  CHECK(index.find(tensors, "1000") == nullptr);
  tensors.push_back(tensors[500]);
  CHECK_FALSE(index.insert(tensors, 1000));
}
