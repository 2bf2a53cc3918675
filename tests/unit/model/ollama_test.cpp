// SPDX-License-Identifier: MIT
#include "model/ollama.hpp"

#include <doctest/doctest.h>

#include "refusal.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace fs = std::filesystem;

namespace {

const std::string layer_digest(64, 'c');

std::string layer(const std::string& kind, const std::string& content, std::size_t size) {
  return R"({"mediaType":"application/vnd.ollama.image.)" + kind + R"(","digest":"sha256:)" +
         content + R"(","size":)" + std::to_string(size) + "}";
}

std::string manifest(const std::string& layers) {
  return R"({"schemaVersion":2,"config":{"digest":"sha256:00","size":5},"layers":[)" + layers +
         "]}";
}

struct Store {
  TemporaryFolder folder;
  std::string model = Gguf().architecture().tensor("t", {8}, 0, 0).data(32).bytes();
  fs::path tag = folder.path() / "manifests" / "registry.ollama.ai" / "library" / "it" / "latest";
  fs::path blob = folder.path() / "blobs" / ("sha256-" + layer_digest);

  Store() {
    fs::create_directories(tag.parent_path());
    fs::create_directories(blob.parent_path());
    write_file(blob, model);
  }
  std::string refusal(const std::string& layers) const {
    write_file(tag, manifest(layers));
    return refusal_of(tag);
  }
};

}  // namespace

TEST_CASE("ollama: blob and manifest") {
  const Store store;
  const ModelFile blob = ModelFile::open(store.blob, {true});
  CHECK(blob.format() == ModelFormat::gguf);
  CHECK(blob.files()[0].published_sha256 == layer_digest);
  write_file(store.tag, manifest(layer("template", std::string(64, '0'), 3) + "," +
                                 layer("model", layer_digest, store.model.size()) + "," +
                                 layer("params", std::string(64, '1'), 3)));
  const ModelFile model = ModelFile::open(store.tag, {true});
  CHECK(model.path() == store.tag);
  CHECK(model.files()[0].path == store.blob);
  CHECK(model.files()[0].published_sha256 == layer_digest);
  CHECK(model.tensors()[0].name == "t");
  // Also alongside the manifest.
  const TemporaryFolder other;
  fs::rename(store.blob, other.path() / store.blob.filename());
  write_file(other.path() / "manifest", manifest(layer("model", layer_digest, store.model.size())));
  CHECK(ModelFile::open(other.path() / "manifest").tensors().size() == 1);
}

TEST_CASE("ollama: manifests that lead to no model") {
  const Store store;
  check_message(store.refusal(""), "input_failed", "lists no layer of a type of models");
  check_message(store.refusal("1,[],{\"mediaType\":5},{}"), "input_failed", "no layer of a type");
  check_message(store.refusal(layer("model", layer_digest, 1)), "corrupt_data",
                "the manifest says 1");
  const std::string good = layer("model", layer_digest, store.model.size());
  check_message(store.refusal(good + "," + good), "input_failed", "several model layers");
  check_message(store.refusal(layer("model", "../../" + std::string(58, 'a'), 1)), "corrupt_data",
                "digest");
  check_message(store.refusal(layer("model", "abc", 1)), "corrupt_data", "digest 'sha256:abc'");
  check_message(store.refusal(layer("model", std::string(64, 'd'), 1)), "input_failed",
                "sha256-ddd", "neither in the folder of the manifest");
  check_message(store.refusal(good + ","), "corrupt_data", "malformed");
  write_file(store.tag, manifest(good) + "x");
  check_message(refusal_of(store.tag), "corrupt_data", "malformed");
}

TEST_CASE("ollama: a blob that is not a model") {
  const Store store;
  const std::string inner = manifest(layer("model", layer_digest, 1));
  write_file(store.blob, inner);
  check_message(store.refusal(layer("model", layer_digest, inner.size())), "input_failed",
                "JSON text");
  write_file(store.blob, "");
  check_message(store.refusal(layer("model", layer_digest, 0)), "corrupt_data",
                "the file is empty");
}

TEST_CASE("Docker Model Runner: manifests and blobs") {
  const TemporaryFolder folder;
  const std::string bytes = Gguf().architecture().tensor("t", {8}, 0, 0).data(32).bytes();
  const fs::path path = folder.path() / "manifests" / "sha256" / std::string(64, 'a');
  const fs::path blob = folder.path() / "blobs" / "sha256" / layer_digest;
  fs::create_directories(path.parent_path());
  fs::create_directories(blob.parent_path());
  write_file(blob, bytes);
  const auto layers = [&](const std::string& type) {
    return manifest(R"({"mediaType":"application/vnd.docker.ai.license","digest":"sha256:)" +
                    std::string(64, '1') + R"("},{"mediaType":"application/vnd.)" + type +
                    R"(","digest":"sha256:)" + layer_digest + R"(","size":)" +
                    std::to_string(bytes.size()) + "}");
  };
  for (const char* type : {"docker.ai.gguf.v3", "docker.ai.safetensors", "cncf.model.weight.v1.raw",
                           "cncf.model.weight.v1.gguf"}) {
    write_file(path, layers(type));
    const ModelFile model = ModelFile::open(path);
    CHECK(model.files()[0].path == blob);
    CHECK(model.files()[0].published_sha256 == layer_digest);
  }
  write_file(path, layers("docker.ai.mmproj"));
  check_message(refusal_of(path), "input_failed", "no layer of a type of models");
}
