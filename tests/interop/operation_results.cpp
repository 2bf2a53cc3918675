// SPDX-License-Identifier: MIT
/// Calls every tensor operation on packed tensors and writes inputs and results down, for programs
/// that compute the same by other means.
/// Usage: operation_results DEVICE FOLDER
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "measure/ops/operation.hpp"

namespace hiptool::test {
namespace {

using Dims = std::vector<std::uint64_t>;

/// A folder gets results.jsonl, an object a line: operation, variant, dtype, data, inputs and
/// result, each with dtype, dims and offset, at which its bytes are in results.bin.
class Results {
 public:
  explicit Results(const std::string& folder)
      : lines_(folder + "/results.jsonl"), bytes_(folder + "/results.bin", std::ios::binary) {}

  nlohmann::json put(DType dtype, const Dims& dims, std::span<const std::byte> bytes) {
    nlohmann::json tensor{{"dtype", to_string(dtype)}, {"dims", dims}, {"offset", end_}};
    bytes_.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    end_ += bytes.size();
    return tensor;
  }
  void add(const nlohmann::json& line) {
    lines_ << line.dump() << '\n';
    ++count_;
  }
  /// How many were added. Throws if not all could be written.
  std::size_t finish() {
    lines_.flush();
    bytes_.flush();
    if (!lines_ || !bytes_) throw std::runtime_error("could not write all results");
    return count_;
  }

 private:
  std::ofstream lines_;
  std::ofstream bytes_;
  std::uint64_t end_ = 0;
  std::size_t count_ = 0;
};

void call(const Backend& backend, const measure::OperationCase& made, nlohmann::json line,
          Results& results) {
  std::vector<Tensor> inputs;
  line["inputs"] = nlohmann::json::array();
  for (const measure::InputData& input : made.inputs) {
    const Tensor tensor = backend.empty(input.dtype, input.dims);
    copy_h2d_and_wait(Buffer(tensor.buffer()), input.bytes);
    inputs.push_back(tensor);
    line["inputs"].push_back(results.put(input.dtype, input.dims, input.bytes));
  }
  Tensor out = backend.empty(made.result_dtype, made.result_dims);
  made.run(backend, inputs, out);
  backend.synchronize();
  std::vector<std::byte> bytes(out.element_count() * element_size_bytes(made.result_dtype));
  copy_d2h_and_wait(bytes, out.buffer());
  line["variant"] = made.variant;
  line["result"] = results.put(made.result_dtype, made.result_dims, bytes);
  results.add(line);
}

void call_all(const Backend& backend, Results& results) {
  using measure::DataKind;
  std::uint64_t seed = 0;
  for (const measure::OperationEntry& entry : measure::operations()) {
    std::vector<Dims> shapes{{33, 40}, {3, 5, 7, 4}, {1500}};
    // Of the others attention takes one, as heads of a single token.
    if (entry.rank == 3) shapes.push_back({9, 4, 16});
    for (const DType dtype : entry.dtypes) {
      for (const Dims& dims : shapes) {
        for (const DataKind kind : {DataKind::whole, DataKind::random}) {
          measure::InputMaker maker(kind, ++seed);
          for (const measure::OperationCase& made : entry.cases(dtype, dims, maker)) {
            call(backend, made,
                 {{"operation", entry.name},
                  {"dtype", to_string(dtype)},
                  {"data", measure::to_string(kind)}},
                 results);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hiptool::test

int main(int argc, char** argv) try {
  using namespace hiptool;
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DEVICE FOLDER\n", argv[0]);
    return 2;
  }
  Platforms platforms(Platforms::Options::from_environment());
  const Backend backend(find_device(platforms, argv[1]));
  test::Results results(argv[2]);
  test::call_all(backend, results);
  std::printf("%zu results of %s\n", results.finish(), argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
