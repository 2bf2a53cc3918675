// SPDX-License-Identifier: MIT
/// Writes the values of quantised blocks: dequantize TYPE BLOCKS_FILE VALUES_FILE. With --list it
/// names the types: NAME NUMBER VALUES BYTES.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/iq_grids.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "kernel_store/quantised_types.hpp"

using namespace hiptool;

namespace {

std::vector<char> dequantize(const kernel_store::QuantisedType& type,
                             const std::vector<char>& data) {
  Platforms platforms;
  const Device device = find_device(platforms, "cpu");
  kernel_store::KernelLoader loader(device);
  Buffer blocks(device, data.size());
  Buffer grids(device, kernel_store::iq_grids().size_bytes());
  const std::uint64_t count = data.size() / type.bytes * type.values;
  const Buffer out(device, count * 4);
  copy_h2d_and_wait(blocks, std::as_bytes(std::span(data)));
  copy_h2d_and_wait(grids, std::as_bytes(kernel_store::iq_grids()));
  const Stream stream(device);
  launch(loader.kernel("hiptool_dequantize"), LaunchConfig{{3}, {256}}, stream, blocks, grids, out,
         count, type.id);
  stream.synchronize();
  std::vector<char> values(out.size_bytes());
  copy_d2h_and_wait(std::as_writable_bytes(std::span(values)), out);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const auto& type : kernel_store::quantised_types) {
      std::printf("%s %u %u %u\n", std::string(type.name).c_str(), type.id, type.values,
                  type.bytes);
    }
    return 0;
  }
  if (argc != 4) return 2;
  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
  for (const auto& type : kernel_store::quantised_types) {
    if (type.name != argv[1]) continue;
    const std::vector<char> values = dequantize(type, data);
    std::ofstream(argv[3], std::ios::binary)
        .write(values.data(), static_cast<std::streamsize>(values.size()));
    return 0;
  }
  return 2;
}
