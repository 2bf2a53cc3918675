// SPDX-License-Identifier: MIT
#include "model_writer/model_writer.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "builders.hpp"
#include "hiptool/error.hpp"
#include "model/element_types.hpp"
#include "model_writer/pattern.hpp"

using namespace hiptool;
using namespace hiptool::model_writer;
using namespace hiptool::model;
using namespace hiptool::test;

namespace {

/// A folder that goes away with the object.
class WriterFolder {
 public:
  WriterFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hiptool-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~WriterFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WriterFolder(const WriterFolder&) = delete;
  WriterFolder& operator=(const WriterFolder&) = delete;

  std::filesystem::path file(const char* name) const { return path_ / name; }
  std::size_t entries() const {
    const std::filesystem::directory_iterator all(path_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

ErrorCode code_of(const ModelWriterOptions& options) {
  try {
    write_model(options);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

std::uint64_t largest_block_bytes(const ModelFile& model) {
  std::uint64_t largest = 1;
  for (const TensorInfo& tensor : model.tensors()) {
    largest = std::max<std::uint64_t>(largest, tensor.type.block_bits() / 8);
  }
  return largest;
}

}  // namespace

TEST_CASE("written models are read back without a warning") {
  const WriterFolder folder;
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    for (const std::uint32_t tensors : {1u, 2u, 3u, 50u, 400u}) {
      for (const std::uint64_t size :
           {std::uint64_t{0}, std::uint64_t{1} << 20, (std::uint64_t{20} << 20) + 12345}) {
        CAPTURE(tensors);
        CAPTURE(size);
        const ModelWriterOptions options{folder.file("m"), format, size, tensors, {}, 7};
        const ModelWriterResult result = write_model(options);
        const ModelFile model = ModelFile::open(options.path, ModelOptions{true});
        CHECK(model.format() == format);
        CHECK(model.tensors().size() == tensors);
        CHECK(result.tensors == tensors);
        CHECK(model.tensor_bytes() == result.tensor_bytes);
        CHECK(model.file_bytes() == result.file_bytes);
        if (size > 0) {
          CHECK(model.tensor_bytes() <= size);
          CHECK(model.tensor_bytes() + largest_block_bytes(model) > size);
        }
        CHECK(model.find("token_embd.weight") != nullptr);
        if (format == ModelFormat::gguf) {
          CHECK(model.text("general.architecture") == "llama");
          CHECK(model.array_size("general.tags") == 2);
        }
      }
    }
  }
}

TEST_CASE("sizes vary: some tensors are tiny, some large") {
  const WriterFolder folder;
  const ModelWriterOptions options{folder.file("m"), ModelFormat::gguf, 16u << 20, 40};
  write_model(options);
  const ModelFile model = ModelFile::open(options.path);
  CHECK(model.find("output_norm.weight")->size_bytes < 10'000);
  CHECK(model.find("blk.1.ffn_up.weight")->size_bytes > 300'000);
  CHECK(model.find("blk.1.ffn_up.weight")->shape.size() == 2);
}

TEST_CASE("the same options give the same bytes, another seed others") {
  const WriterFolder folder;
  ModelWriterOptions options{folder.file("a"), ModelFormat::gguf, 30u << 20, 20, {"all"}, 1};
  write_model(options);
  const std::string first = bytes_of(options.path);
  write_model(options);  // over the first
  CHECK(bytes_of(options.path) == first);
  options.seed = 2;
  write_model(options);
  CHECK(bytes_of(options.path) != first);
  CHECK(folder.entries() == 1);
}

TEST_CASE("all types, chosen types, unknown types") {
  const WriterFolder folder;
  for (const ModelFormat format : {ModelFormat::gguf, ModelFormat::safetensors}) {
    ModelWriterOptions options{folder.file("m"), format, 1u << 20, 64, {"all"}};
    write_model(options);
    std::set<std::string_view> names;
    const ModelFile model = ModelFile::open(options.path, ModelOptions{true});
    for (const TensorInfo& tensor : model.tensors()) names.insert(tensor.type.name());
    CHECK(names.size() == (format == ModelFormat::gguf ? 35 : 22));
    options.types = {"F16", "F32"};
    options.tensors = 3;
    write_model(options);
    CHECK(ModelFile::open(options.path).find("output_norm.weight")->type.name() == "F32");
    options.types = {"Q9"};
    CHECK(code_of(options) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a pattern does not depend on how it is cut") {
  for (const GgufType& type : gguf_types()) {
    if (type.entry.name.empty()) continue;
    const Pattern pattern = Pattern::of(type, 42);
    const std::size_t size = 3 * type.entry.block_bits / 8 + 40;
    std::vector<std::byte> whole(size);
    pattern.fill(whole, 0);
    for (std::size_t start = 0; start < size; start += 3) {
      for (std::size_t length = 0; start + length <= size; length += 7) {
        std::vector<std::byte> piece(length);
        pattern.fill(piece, start);
        REQUIRE(std::equal(piece.begin(), piece.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(start)));
      }
    }
  }
}

TEST_CASE("floats and scales are finite") {
  std::vector<std::byte> bytes(static_cast<std::size_t>(9) << 16);
  const auto half_at = [&](std::size_t at) {
    return (std::to_integer<unsigned>(bytes[at]) | std::to_integer<unsigned>(bytes[at + 1]) << 8) &
           0x7C00u;
  };
  for (const char* name : {"Q4_0", "Q4_K", "F16", "Q6_K"}) {
    const GgufType* type = find_gguf_type(name);
    Pattern::of(*type, 3).fill(bytes, 0);
    const std::size_t block = type->entry.block_bits / 8;
    const std::size_t scale = name == std::string_view("Q6_K") ? 208 : 0;
    for (std::size_t at = scale; at + 1 < bytes.size(); at += block) CHECK(half_at(at) != 0x7C00);
  }
  for (const char* name : {"F8_E4M3FNUZ", "F8_E5M2FNUZ"}) {
    Pattern::of(*find_safetensors_type(name), 3).fill(bytes, 0);
    CHECK(std::find(bytes.begin(), bytes.end(), std::byte{0x80}) == bytes.end());
  }
  Pattern::of(*find_safetensors_type("BOOL"), 3).fill(bytes, 0);
  CHECK(
      std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte <= std::byte{1}; }));
  const Pattern floats = Pattern::of(*find_safetensors_type("F32"), 3);
  CHECK(floats.keep == Pattern::of(*find_gguf_type("F32"), 3).keep);
  CHECK(Pattern::of(*find_gguf_type("F64"), 3).keep == 0xBFFFFFFFFFFFFFFFu);
  CHECK(Pattern::of(*find_gguf_type("BF16"), 3).keep == 0xBFFFBFFFBFFFBFFFu);
}

TEST_CASE("options that make no sense") {
  const WriterFolder folder;
  CHECK(code_of({folder.file("m"), ModelFormat::gguf, 1, 0}) == ErrorCode::invalid_argument);
  CHECK(code_of({folder.file("m"), ModelFormat::gguf, 1, 1'000'001}) ==
        ErrorCode::invalid_argument);
  CHECK(code_of({folder.file("m"), ModelFormat::gguf, UINT64_MAX, 1}) ==
        ErrorCode::invalid_argument);
  CHECK(folder.entries() == 0);
}

TEST_CASE("files that cannot be written leave nothing behind") {
  const WriterFolder folder;
  CHECK(code_of({folder.file("absent") / "m", ModelFormat::gguf, 1024, 1}) ==
        ErrorCode::output_failed);
  CHECK(code_of({folder.file(""), ModelFormat::gguf, 1024, 1}) == ErrorCode::output_failed);
  CHECK(code_of({"/dev/null", ModelFormat::gguf, 1024, 1}) == ErrorCode::output_failed);
  CHECK(code_of({folder.file("m"), ModelFormat::gguf, std::uint64_t{1} << 59, 1}) ==
        ErrorCode::output_failed);
  std::filesystem::create_directory(folder.file("d"));
  CHECK(code_of({folder.file("d"), ModelFormat::gguf, 1024, 1}) == ErrorCode::output_failed);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a failed write keeps what was there before") {
  const WriterFolder folder;
  const ModelWriterOptions options{folder.file("m"), ModelFormat::gguf, 64u << 20, 5};
  std::ofstream(options.path) << "before";
  // A limit on file sizes fails writes as a full disk does, half way through.
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{32u << 20, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const ErrorCode code = code_of(options);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(code == ErrorCode::output_failed);
  CHECK(bytes_of(options.path) == "before");
  CHECK(folder.entries() == 1);
}

TEST_CASE("cancelling and progress") {
  const WriterFolder folder;
  CancelToken cancel;
  std::uint64_t last = 0;
  ModelWriterOptions options{folder.file("m"), ModelFormat::safetensors, 40u << 20, 5};
  options.cancel = &cancel;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done >= last);
    CHECK(done <= total);
    last = done;
  };
  const ModelWriterResult result = write_model(options);
  CHECK(last == result.tensor_bytes);
  std::filesystem::remove(options.path);
  last = 0;
  cancel.cancel();
  CHECK(code_of(options) == ErrorCode::cancelled);
  CHECK(folder.entries() == 0);
}
