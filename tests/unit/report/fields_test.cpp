// SPDX-License-Identifier: MIT
#include "report/fields.hpp"

#include <doctest/doctest.h>

namespace hiptool::report {
namespace {

struct Tensor {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::string file;
};

const Fields<Tensor>& fields() {
  static const Fields<Tensor> list{
      {{"name", "Tensor"}, &Tensor::name},
      {{"bytes", "Size", Unit::size}, &Tensor::size_bytes},
      {{"is_empty", "Empty"},
       [](const Tensor& one) { return one.size_bytes == 0; },
       [](const Tensor& one) { return one.size_bytes == 0 ? "EMPTY" : "no"; }},
      {{"file"}, text_or_absent(&Tensor::file)},
  };
  return list;
}

const std::vector<Tensor> tensors{{"a", 4, "x.gguf"}, {"b", 0, ""}};

TEST_CASE("JSON and CSV have every field, with its value") {
  CHECK(json_text(fields().objects(tensors)) ==
        R"([{"name":"a","bytes":4,"is_empty":false,"file":"x.gguf"},)"
        R"({"name":"b","bytes":0,"is_empty":true,"file":null}])");
  const Table table = fields().rows(tensors);
  REQUIRE(table.columns.size() == 4);
  CHECK(table.columns[1].title == "bytes");
  CHECK(table.columns[1].unit == Unit::none);
  CHECK(json_text(table.at(1, 2)) == "true");
}

TEST_CASE("people get the titles, and values of their own where there are some") {
  const Table table = fields().only({"is_empty", "name"}).table("Tensors", tensors);
  CHECK(table.title == "Tensors");
  REQUIRE(table.columns.size() == 2);
  CHECK(table.columns[0].title == "Empty");
  CHECK(text_of(table.at(1, 0)) == "EMPTY");
  CHECK(text_of(table.at(0, 1)) == "a");
}

TEST_CASE("without things there are columns and no rows") {
  const Table table = fields().without({"file", "is_empty"}).table("", std::vector<Tensor>());
  REQUIRE(table.columns.size() == 2);
  CHECK(table.columns[1].unit == Unit::size);
  CHECK(table.rows.empty());
  CHECK(fields().objects(std::vector<Tensor>()).empty());
}

}  // namespace
}  // namespace hiptool::report
