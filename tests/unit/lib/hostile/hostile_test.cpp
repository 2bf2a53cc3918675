// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <regex>

#include "hostile.hpp"

using namespace hiptool;

namespace {

// Private, but referred to by templates or other sources of the library. Nobody else can call them.
const std::array private_members{"hiptool::Arena::allocate_slice",
                                 "hiptool::Arena::place",
                                 "hiptool::Arena::state",
                                 "hiptool::Arena::to_buffer",
                                 "hiptool::AsyncLoader::require_destination",
                                 "hiptool::CachingAllocator::State::",
                                 "hiptool::DecoderCache::require_capacity",
                                 "hiptool::DecoderCache::require_layer",
                                 "hiptool::CachingAllocator::close",
                                 "hiptool::CachingAllocator::state",
                                 "hiptool::Device::Device",
                                 "hiptool::Event::Destroy::",
                                 "hiptool::Graph::Destroy::",
                                 "hiptool::HostMemory::Unmap::",
                                 "hiptool::Layout::measure",
                                 "hiptool::Layout::set_dims",
                                 "hiptool::LoadedModel::find",
                                 "hiptool::LoadedModel::to_matrix",
                                 "hiptool::LoadedModel::to_tensor",
                                 "hiptool::ModelFile::ModelFile",
                                 "hiptool::ModelRuntime::State::",
                                 "hiptool::ModelRuntime::state",
                                 "hiptool::PinnedBuffer::Unpin::",
                                 "hiptool::Platforms::impl",
                                 "hiptool::RegisteredMemory::Unregister::",
                                 "hiptool::Stream::destroy",
                                 "hiptool::Tensor::element_count_as",
                                 "hiptool::Tensor::elements",
                                 "hiptool::Tensor::read_elements",
                                 "hiptool::Tensor::require_",
                                 "hiptool::Tensor::throw_",
                                 "hiptool::Tensor::wait_for_device",
                                 "hiptool::Tensor::whole_of",
                                 "hiptool::ops::QuantisedTensor::require_memory"};

/// Constructors that only members of the library may call.
std::size_t private_overloads(const std::string& name) {
  return name == "hiptool::AsyncLoader::AsyncLoader" || name == "hiptool::Module::Module" ||
                 name == "hiptool::Platforms::Platforms"
             ? 1
             : 0;
}

/// Overloads by name, of all functions that the library exports.
std::map<std::string, std::size_t> exported_functions() {
  const std::regex line(R"re( \(.*c\+\+\)"(.*)@Base" .*)re");
  const std::regex tag(R"(\[abi:[a-z0-9]+\])");
  std::map<std::string, std::size_t> names;
  std::ifstream file(HIPTOOL_SYMBOLS_FILE);
  for (std::string text; std::getline(file, text);) {
    std::smatch match;
    if (!std::regex_match(text, match, line)) continue;
    const std::string symbol = std::regex_replace(match[1].str(), tag, "");
    if (symbol.find('~') != std::string::npos ||
        symbol.find(" for hiptool::") != std::string::npos) {
      continue;
    }
    const std::string name = symbol.substr(0, symbol.find('('));
    const bool is_private = std::ranges::any_of(
        private_members, [&](const char* prefix) { return name.starts_with(prefix); });
    if (!is_private) ++names[name];
  }
  for (auto& [name, overloads] : names) overloads -= private_overloads(name);
  return names;
}

}  // namespace

TEST_CASE("every exported function answers hostile arguments by an Error or as documented") {
  test::Hostile hostile;
  test::call_core(hostile);
  test::call_memory(hostile);
  test::call_tensors(hostile);
  test::call_models(hostile);
  test::call_operations(hostile);
  test::call_rows(hostile);
  test::call_images(hostile);
  test::call_caches(hostile);
  for (const std::string& finding : hostile.findings()) FAIL_CHECK(finding);

  const auto exported = exported_functions();
  REQUIRE(exported.size() > 200);
  std::size_t overloads = 0;
  for (const auto& [name, count] : exported) {
    overloads += count;
    const auto called = hostile.calls().find(name);
    const std::size_t calls = called == hostile.calls().end() ? 0 : called->second;
    if (calls < count) FAIL_CHECK(name << ": " << count << " overloads, " << calls << " called");
  }
  MESSAGE(overloads << " functions listed, " << hostile.errors() << " calls answered by Error, "
                    << hostile.successes() << " by success, " << hostile.findings().size()
                    << " findings");
}
