// SPDX-License-Identifier: MIT
#include "results/model/summary.hpp"

#include <doctest/doctest.h>

using namespace hiptool;
using namespace hiptool::results;

namespace {

ModelSummary mixtral() {
  ModelSummary summary;
  summary.name = "Mixtral";
  summary.file_type = "Q4_K_M";
  summary.types = {{"Q4_K", 3, 300}, {"F32", 1, 100}};
  summary.context_length = 32'768;
  summary.layers = 3;
  summary.embedding_length = 4096;
  summary.heads = {32, 32, 32};
  summary.kv_heads = {8, 0, 8};
  summary.key_length = 128;
  summary.value_length = 64;
  summary.sliding_window = 4096;
  summary.experts = 8;
  summary.experts_used = 2;
  summary.vocabulary_size = 32'000;
  return summary;
}

std::string summary_text_of(const ModelSummary& summary) {
  std::string text;
  for (const report::Line& line : summary_lines(summary)) text += line.text + "\n";
  return text;
}

std::string summary_json_of(const ModelSummary& summary) {
  report::Report report;
  add_summary_fields(report.document, summary);
  return to_json(report);
}

}  // namespace

TEST_CASE("model report: lines for people") {
  CHECK(summary_text_of(mixtral()) ==
        "name    Mixtral, of type Q4_K_M\n"
        "layers  3, embedding 4 096, heads 32, KV heads 0 to 8 by layer, keys 128, values 64\n"
        "experts 8, 2 for each token\n"
        "context 32 768 tokens, sliding window 4 096, vocabulary 32 000\n");
}

TEST_CASE("model report: what is not told is left out, and whole lines with it") {
  CHECK(summary_text_of({}).empty());
  ModelSummary summary;
  summary.experts = 0;
  summary.kv_heads = {4};
  CHECK(summary_text_of(summary) == "layers  KV heads 4\n");
  summary.kv_heads = {0, 0};  // of an encoder
  CHECK(summary_text_of(summary).empty());
  summary.name = std::string(300, 'x');
  CHECK(summary_text_of(summary).find(std::string(201, 'x')) == std::string::npos);
}

TEST_CASE("model report: fields for programs, absent ones as null") {
  const std::string json = summary_json_of(mixtral());
  for (const char* field :
       {"\"name\": \"Mixtral\"", "\"file_type\": \"Q4_K_M\"", "\"type\": \"Q4_K\"",
        "\"tensors\": 3", "\"bytes\": 300", "\"context_length\": 32768", "\"layers\": 3",
        "\"heads\": 32", "\"key_length\": 128", "\"value_length\": 64", "\"sliding_window\": 4096",
        "\"experts\": 8", "\"experts_used\": 2", "\"vocabulary_size\": 32000",
        "\"embedding_length\": 4096"}) {
    CAPTURE(field);
    CHECK(json.find(field) != std::string::npos);
  }
  CHECK(json.find("\"kv_heads\": [\n    8,\n    0,\n    8\n  ]") != std::string::npos);
  const std::string empty = summary_json_of({});
  CHECK(empty.find("\"quantization\": []") != std::string::npos);
  CHECK(empty.find("\"kv_heads\": null") != std::string::npos);
}

TEST_CASE("model report: shares of the types") {
  const report::Table table = types_table(mixtral());
  REQUIRE(table.rows.size() == 2);
  report::Report report;
  report.run.end(0);
  report.tables.push_back(table);
  CHECK(to_table(report, {}) ==
        "Type  Tensors   Size  Share\n"
        "Q4_K        3  300 B   75 %\n"
        "F32         1  100 B   25 %\n");
  ModelSummary empty;
  empty.types = {{"F32", 1, 0}};
  CHECK(types_table(empty).rows[0][3].is_absent());
}
