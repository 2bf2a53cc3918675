// SPDX-License-Identifier: MIT
// No output of any command replaces a file of a model that it reads.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "harness.hpp"
#include "load/manifest/manifest_text.hpp"
#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::load;
using namespace hiptool::cli::testing;
namespace fs = std::filesystem;

namespace {

using Contents = std::map<fs::path, std::string>;

/// Of all regular files, links as what they point to.
Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink())
      contents[entry.path()] = "-> " + fs::read_symlink(entry).string();
    else if (entry.is_regular_file())
      contents[entry.path()] = start_of(entry.path().string());
  }
  return contents;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// A folder as `hf download` leaves it: links in a snapshot to blobs, two parts and an index.
struct Downloaded {
  Downloaded() {
    fs::create_directories(blobs);
    fs::create_directories(snapshot);
    write(root / "refs" / "main", "rev");
    const auto add = [&](const std::string& name, const std::string& blob) {
      fs::create_symlink(fs::path("../../blobs") / blob, snapshot / name);
    };
    test::write_small_model(blobs / "b1", {{"one", test::random_bytes(64, 1)}});
    test::write_small_model(blobs / "b2", {{"two", test::random_bytes(64, 2)}});
    write(blobs / "b3", R"({"weight_map": {"one": "model-00001-of-00002.safetensors",
      "two": "model-00002-of-00002.safetensors"}})");
    write(blobs / "b4", R"({"architectures": ["LlamaForCausalLM"]})");
    add("model-00001-of-00002.safetensors", "b1");
    add("model-00002-of-00002.safetensors", "b2");
    add("model.safetensors.index.json", "b3");
    add("config.json", "b4");
    write(snapshot / "tokenizer.json", "{}");
    fs::create_hard_link(blobs / "b2", folder.path() / "hard");
    fs::create_symlink(snapshot, folder.path() / "link");
  }
  test::TemporaryFolder folder;
  fs::path root = folder.path() / "models--org--name";
  fs::path blobs = root / "blobs";
  fs::path snapshot = root / "snapshots" / "rev";
};

/// Ways to name the model in it.
std::vector<fs::path> names_of(const Downloaded& model) {
  return {model.root, model.snapshot, model.folder.path() / "link",
          model.snapshot / "model.safetensors.index.json",
          model.snapshot / "model-00001-of-00002.safetensors"};
}

/// Files of it, also under other names.
std::vector<fs::path> files_in(const Downloaded& model) {
  std::vector<fs::path> files;
  for (const char* name : {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                           "model.safetensors.index.json", "config.json", "tokenizer.json"}) {
    files.push_back(model.snapshot / name);
  }
  files.push_back(model.blobs / "b2");
  files.push_back(model.blobs / "b3");
  files.push_back(model.blobs / "b4");
  files.push_back(model.folder.path() / "hard");
  files.push_back(model.snapshot / ".." / "rev" / "config.json");
  return files;
}

/// Exit 2, with nothing replaced; `words` name an output.
void check_refused(const fs::path& folder, const std::vector<std::string>& words,
                   const Variables& variables = {}) {
  const Contents before = contents_of(folder);
  Machine machine;
  machine.variables.insert(variables.begin(), variables.end());
  std::string line;
  for (const std::string& word : words) line += word + " ";
  CAPTURE(line);
  CHECK_MESSAGE(machine.run(words) == 2, machine.out.text, machine.err.text);
  CHECK_MESSAGE(contains(machine.err.text, "name the same file"), machine.err.text);
  CHECK(contents_of(folder) == before);
}

}  // namespace

TEST_CASE("exports of inspect and load leave every file of the model alone, however it is named") {
  const Downloaded model;
  for (const fs::path& name : names_of(model)) {
    for (const fs::path& file : files_in(model)) {
      for (const char* command : {"inspect", "load"}) {
        check_refused(model.folder.path(),
                      {command, name.string(), "--export", "json=" + file.string()});
      }
      check_refused(model.folder.path(), {"inspect", name.string(), "--format", "json", "--export",
                                          "html=" + file.string()});
    }
  }
}

TEST_CASE("so do the other outputs of load, and the exports of check") {
  const Downloaded model;
  for (const fs::path& file : files_in(model)) {
    for (const std::vector<std::string>& output : {std::vector<std::string>{"--trace"},
                                                   {"--write-manifest"},
                                                   {"--prove", "--write-golden"},
                                                   {"--force", "--write-manifest"},
                                                   {"--prove", "--force", "--write-golden"}}) {
      std::vector<std::string> words{"load", model.snapshot.string()};
      words.insert(words.end(), output.begin(), output.end());
      words.push_back(file.string());
      const Contents before = contents_of(model.folder.path());
      Machine machine;
      CHECK_MESSAGE(machine.run(words) == 2, machine.err.text);
      CHECK(contents_of(model.folder.path()) == before);
    }
    for (const char* output : {"--write-expect", "--export"}) {
      const std::string prefix = std::string(output) == "--export" ? "csv=" : "";
      std::vector<std::string> words{"check", "--model", model.root.string(),    "--device",
                                     "cpu",   output,    prefix + file.string(), "--force"};
      if (!prefix.empty()) words.pop_back();
      check_refused(model.folder.path(), words);
    }
  }
}

TEST_CASE("a model that cannot be opened is not replaced by the report of that") {
  Downloaded model;
  fs::remove(model.blobs / "b2");
  write(model.blobs / "b2", "damaged");
  for (const fs::path& name : names_of(model)) {
    for (const char* command : {"inspect", "load"}) {
      for (const char* file : {"model-00002-of-00002.safetensors", "config.json"}) {
        check_refused(model.folder.path(), {command, name.string(), "--export",
                                            "json=" + (model.snapshot / file).string()});
      }
    }
  }
}

TEST_CASE("one of several models is protected too") {
  const Downloaded model;
  const fs::path other = test::write_small_model(model.folder.path() / "other.safetensors", {});
  check_refused(model.folder.path(), {"inspect", other.string(), model.root.string(), "--export",
                                      "json=" + (model.snapshot / "config.json").string()});
}

TEST_CASE(
    "files that belong to a downloaded model are protected, also if nothing here reads them") {
  const Downloaded model;
  for (const char* name :
       {"params.json", "generation_config.json", "quantize_config.json", "hf_quant_config.json",
        "preprocessor_config.json", "adapter_config.json", "tokenizer.model", "tekken.json",
        "vocab.txt", "merges.txt", "chat_template.json", "chat_template.jinja", "modeling_x.py",
        "README.md", "LICENSE", ".gitattributes", "pytorch_model.bin", "model.safetensors.asc"}) {
    const fs::path file = model.snapshot / name;
    write(file, "{}");
    check_refused(model.folder.path(),
                  {"inspect", model.root.string(), "--export", "json=" + file.string()});
    check_refused(model.folder.path(), {"load", model.snapshot.string(), "--dry-run", "--export",
                                        "html=" + file.string()});
    fs::remove(file);
  }
}

TEST_CASE("the lists of a store are protected, by whichever of its files the model is named") {
  const test::TemporaryFolder folder;
  const std::string digits(64, 'a');
  const fs::path ollama = folder.path() / "ollama";
  const fs::path docker = folder.path() / "docker";
  const std::string layer = R"({"layers": [{"mediaType": "application/vnd.NAME",
    "digest": "sha256:)" + digits +
                            R"("}]})";
  const auto of_type = [&](const std::string& type) {
    std::string text = layer;
    return text.replace(text.find("NAME"), 4, type);
  };
  const fs::path tag = ollama / "manifests/registry.ollama.ai/library/tiny/1b";
  write(tag, of_type("ollama.image.model"));
  const fs::path manifest = docker / "manifests/sha256" / std::string(64, 'b');
  write(manifest, of_type("docker.ai.gguf.v3"));
  write(docker / "models.json", R"({"models": [{"id": "sha256:)" + std::string(64, 'b') +
                                    R"(", "tags": ["ai/tiny:1b"]}]})");
  const fs::path blob = ollama / "blobs" / ("sha256-" + digits);
  const fs::path docker_blob = docker / "blobs/sha256" / digits;
  for (const fs::path& path : {blob, docker_blob}) {
    fs::create_directories(path.parent_path());
    test::write_small_model(path, {{"w", test::random_bytes(64, 1)}});
  }
  const auto check_all = [&](const std::vector<std::string>& names,
                             const std::vector<fs::path>& files) {
    for (const std::string& name : names) {
      for (const fs::path& file : files) {
        check_refused(folder.path(), {"inspect", name, "--export", "json=" + file.string()},
                      {{"OLLAMA_MODELS", ollama.string()}, {"MODELS_PATH", docker.string()}});
      }
    }
  };
  check_all({"tiny:1b", tag.string(), blob.string(), ollama.string(), ollama.string() + "/",
             blob.parent_path().string()},
            {tag, blob});
  check_all({"ai/tiny:1b", manifest.string(), docker_blob.string(), docker.string(),
             docker_blob.parent_path().string()},
            {manifest, docker_blob, docker / "models.json"});
}

TEST_CASE("a blob beside a model is one of its files, without a store too") {
  const test::TemporaryFolder folder;
  const fs::path blob = folder.path() / ("sha256-" + std::string(64, 'c'));
  write(blob, "weights");
  const auto model =
      test::write_small_model(folder.path() / "m.safetensors", {{"w", test::random_bytes(9, 1)}});
  for (const std::string& name : {model.string(), folder.path().string()}) {
    check_refused(folder.path(), {"inspect", name, "--export", "json=" + blob.string()});
  }
}

TEST_CASE("a name of several models protects each of them") {
  const test::TemporaryFolder folder;
  const fs::path tag = folder.path() / "ollama/manifests/registry.ollama.ai/library/tiny/1b";
  const fs::path manifest = folder.path() / "docker/manifests/sha256" / std::string(64, 'b');
  write(tag, "{}");
  fs::create_directories(folder.path() / "ollama/blobs");
  write(manifest, "{}");
  write(folder.path() / "docker/models.json",
        R"({"models": [{"id": "sha256:)" + std::string(64, 'b') + R"(", "tags": ["tiny:1b"]}]})");
  for (const fs::path& file : {tag, manifest}) {
    check_refused(folder.path(), {"inspect", "tiny:1b", "--export", "json=" + file.string()},
                  {{"OLLAMA_MODELS", (folder.path() / "ollama").string()},
                   {"MODELS_PATH", (folder.path() / "docker").string()}});
  }
}

TEST_CASE("make-model writes no export over a file of its set") {
  const test::TemporaryFolder folder;
  const std::string set = folder / "s";
  for (const std::string name : {"-00001-of-00003.gguf", "-00003-of-00003.gguf"}) {
    check_refused(folder.path(), {"make-model", set + ".gguf", "--size", "64KiB", "--shards", "3",
                                  "--export", "json=" + set + name});
  }
  check_refused(folder.path(), {"make-model", set + ".safetensors", "--size", "64KiB", "--shards",
                                "2", "--export", "json=" + set + ".safetensors.index.json"});
  Machine machine;
  CHECK(machine.run({"make-model", set + ".gguf", "--size", "64KiB", "--shards", "3", "--export",
                     "json=" + set + ".json"}) == 0);
}

TEST_CASE("an earlier report in the folder of a model is replaced") {
  const Downloaded model;
  const fs::path elsewhere = model.folder.path() / "blobs" / "models" / "m.safetensors";
  fs::create_directories(elsewhere.parent_path());
  test::write_small_model(elsewhere, {{"w", test::random_bytes(64, 1)}});
  for (const auto& [name, folder] :
       {std::pair(model.root, model.snapshot), {elsewhere, elsewhere.parent_path()}}) {
    for (int i = 0; i < 2; ++i) {
      Machine machine;
      CHECK(machine.run({"inspect", name.string(), "--export",
                         "json=" + (folder / "report.json").string()}) == 0);
    }
  }
}

TEST_CASE("a manifest replaces an earlier one and an empty file; others only with --force") {
  const test::TemporaryFolder folder;
  const std::string model =
      test::write_small_model(folder.path() / "m.safetensors", {{"w", test::random_bytes(9, 1)}})
          .string();
  const auto load = [&](const fs::path& manifest, bool force) {
    Machine machine;
    std::vector<std::string> words{"load",           model, "--device", "cpu", "--write-manifest",
                                   manifest.string()};
    if (force) words.emplace_back("--force");
    const int exit_code = machine.run(words);
    if (exit_code == 2) {
      CHECK(contains(machine.err.text, "--write-manifest would replace " + manifest.string()));
      CHECK(contains(machine.err.text, "--force"));
    }
    return exit_code;
  };
  for (const char* name : {"m.json", "m.sha256", "m.xxh64", "m.xxh3"}) {
    CAPTURE(name);
    const fs::path manifest = folder.path() / name;
    CHECK(load(manifest, false) == 0);
    CHECK(load(manifest, false) == 0);
    for (const char* text : {"{\"schema\": \"hiptool.load/1\"}", "weights", "[]"}) {
      std::ofstream(manifest) << text;
      CHECK(load(manifest, false) == 2);
      CHECK(start_of(manifest.string()) == text);
      // Through a link too, which stays one.
      const fs::path link = folder.path() / (std::string("link-") + name);
      fs::remove(link);
      fs::create_symlink(manifest, link);
      CHECK(load(link, false) == 2);
      CHECK(start_of(manifest.string()) == text);
      CHECK(load(link, true) == 0);
      CHECK(fs::is_symlink(link));
      CHECK(is_manifest(manifest));
    }
    std::ofstream(manifest, std::ios::trunc).flush();
    CHECK(load(manifest, false) == 0);
  }
}

TEST_CASE("goldens and expectations replace only their kind") {
  const test::TemporaryFolder folder;
  const std::string other = folder / "notes";
  std::ofstream(other) << "mine";
  Machine machine;
  CHECK(machine.run({"load", "absent.gguf", "--prove", "--write-golden", other}) == 2);
  CHECK(contains(machine.err.text, "--write-golden would replace " + other));
  CHECK(machine.run({"check", "--device", "cpu", "--write-expect", other}) == 2);
  CHECK(contains(machine.err.text, "--write-expect would replace " + other));
  CHECK(machine.platforms_made == 0);
  CHECK(start_of(other) == "mine");
  // Of their kind: the next check fails, here that of the model.
  std::ofstream(other, std::ios::trunc)
      << R"(12345678{"__metadata__":{"format":"hiptool.golden/1"}})";
  CHECK(machine.run({"load", "absent.gguf", "--prove", "--write-golden", other}) == 4);
  std::ofstream(other, std::ios::trunc) << R"({"schema": "hiptool.expect/1"})";
  CHECK(machine.run({"check", "--model", "absent.gguf", "--write-expect", other}) == 4);
}

TEST_CASE("a link is followed by every output, also to a file that does not exist yet") {
  const test::TemporaryFolder folder;
  const std::string model =
      test::write_small_model(folder.path() / "m.safetensors", {{"w", test::random_bytes(9, 1)}})
          .string();
  for (const std::vector<std::string>& output :
       {std::vector<std::string>{"--trace", ""}, {"--write-manifest", ""}, {"--export", "json="}}) {
    const fs::path target = folder.path() / "sub" / "target";
    const fs::path link = folder.path() / "link";
    fs::remove_all(target.parent_path());
    fs::remove(link);
    fs::create_directories(target.parent_path());
    fs::create_symlink("sub/target", link);
    Machine machine;
    CAPTURE(output.front());
    CHECK(machine.run({"load", model, "--device", "cpu", output[0], output[1] + link.string()}) ==
          0);
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_regular_file(target));
  }
}
