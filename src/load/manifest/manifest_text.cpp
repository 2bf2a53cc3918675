// SPDX-License-Identifier: MIT
#include "load/manifest/manifest_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "model/diagnostics.hpp"
#include "model/json_reader.hpp"
#include "model/parts.hpp"
#include "model/text.hpp"
#include "model/unique_keys.hpp"

namespace hiptool::load {
namespace {

constexpr std::string_view schema = "hiptool.manifest/1";
constexpr std::string_view xxh3_note =
    "XXH3-64 is not cryptographic: these digests detect damage, not tampering; for that use "
    "--manifest-digest sha256 or --verify published";
constexpr std::string_view sha256_note =
    "sha256 detects tampering as long as this manifest is from a trusted place; digest (XXH3-64) "
    "detects damage only";
constexpr std::uint64_t most_manifest_bytes = 256u << 20;  // a million tensors take about 150 MiB
constexpr std::uint64_t most_name_bytes = 1u << 20;
constexpr std::size_t most_dims = 64;

using model::JsonReader;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

class DigestReader {
 public:
  DigestReader(const base::File& file, Manifest& manifest)
      : manifest_(manifest),
        diagnostics_(file.path(), false),
        reader_(file, 0, file.size_bytes(), diagnostics_) {
    diagnostics_.move_to(file.path(), "offset");
  }

  void read() {
    std::string key;
    std::string named_schema;
    bool has_tensors = false;
    reader_.next();
    reader_.enter();
    for (model::UniqueKeys keys(reader_); keys.next(key);) {
      if (key == "schema") {
        named_schema = text();
        if (named_schema != schema) refuse(named_schema);
      } else if (key == "digest") {
        manifest_.digest = digest(16);
      } else if (key == "tensors") {
        has_tensors = true;
        read_list("a list of tensors", [this] { read_tensor(); });
      } else if (key == "metadata") {
        manifest_.covers_metadata = true;
        read_list("a list of files", [this] { read_metadata(); });
      } else {
        reader_.skip();
      }
    }
    reader_.finish();
    if (named_schema.empty()) refuse("no schema");
    if (!has_tensors || manifest_.digest.empty()) {
      reader_.malformed("it has no digest or no list of tensors");
    }
    check_sha256();
  }

 private:
  [[noreturn]] void refuse(const std::string& found) const {
    throw Error(
        ErrorCode::input_failed, "read manifest",
        manifest_.path.string() + " is JSON, but not a manifest: its schema is " + found,
        "give one that `hiptool load --write-manifest` wrote, of schema " + std::string(schema));
  }

  // A manifest with only some of them was tampered with.
  void check_sha256() {
    std::size_t count = 0;
    for (const auto& tensor : manifest_.tensors) count += tensor.sha256.empty() ? 0u : 1u;
    for (const auto& file : manifest_.metadata) count += file.sha256.empty() ? 0u : 1u;
    if (count == 0) return;
    if (count != manifest_.tensors.size() + manifest_.metadata.size()) {
      reader_.malformed("some tensors or files have a sha256 and others have none");
    }
    manifest_.has_sha256 = true;
  }

  void expect(JsonReader::Kind kind, std::string_view what) {
    if (reader_.next() != kind) reader_.malformed("expected " + std::string(what));
  }

  template <class Element>
  void read_list(std::string_view what, Element&& read_element) {
    expect(JsonReader::Kind::array, what);
    reader_.enter();
    while (reader_.next_element()) read_element();
  }

  std::string text() {
    expect(JsonReader::Kind::text, "a text");
    std::string value;
    if (!reader_.read_text(value, most_name_bytes)) reader_.malformed("a text is too long");
    return value;
  }

  std::string digest(std::size_t digits) {
    std::string value = text();
    if (!is_hex(value, digits)) {
      reader_.malformed("a digest must have " + std::to_string(digits) + " hexadecimal digits");
    }
    return value;
  }

  std::uint64_t whole() {
    expect(JsonReader::Kind::number, "a number");
    const JsonReader::Number number = reader_.read_number();
    if (!number.is_whole) reader_.malformed("a size must be a whole number");
    return number.whole;
  }

  void read_tensor() {
    Manifest::Tensor tensor;
    bool has_name = false;
    expect(JsonReader::Kind::object, "a tensor");
    reader_.enter();
    std::string key;
    for (model::UniqueKeys keys(reader_); keys.next(key);) {
      if (key == "name") {
        tensor.name = text();
        has_name = true;
      } else if (key == "dtype") {
        tensor.dtype = text();
      } else if (key == "bytes") {
        tensor.bytes = whole();
      } else if (key == "digest") {
        tensor.digest = digest(16);
      } else if (key == "sha256") {
        tensor.sha256 = digest(64);
      } else if (key == "shape") {
        read_list("a shape", [&] {
          if (tensor.shape.size() == most_dims) reader_.malformed("a shape has too many dims");
          tensor.shape.push_back(whole());
        });
      } else {
        reader_.skip();
      }
    }
    if (!has_name || tensor.digest.empty()) reader_.malformed("a tensor lacks name or digest");
    if (!names_.insert(tensor.name).second) {
      reader_.malformed("the tensor '" + tensor.name + "' appears twice");
    }
    manifest_.tensors.push_back(std::move(tensor));
  }

  void read_metadata() {
    Manifest::Metadata file;
    expect(JsonReader::Kind::object, "a file");
    reader_.enter();
    std::string key;
    for (model::UniqueKeys keys(reader_); keys.next(key);) {
      if (key == "file") {
        file.file = text();
      } else if (key == "bytes") {
        file.bytes = whole();
      } else if (key == "digest") {
        file.digest = digest(16);
      } else if (key == "sha256") {
        file.sha256 = digest(64);
      } else {
        reader_.skip();
      }
    }
    if (file.digest.empty()) reader_.malformed("the metadata of a file lacks its digest");
    manifest_.metadata.push_back(std::move(file));
  }

  Manifest& manifest_;
  model::Diagnostics diagnostics_;
  JsonReader reader_;
  std::unordered_set<std::string> names_;
};

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// The rest is the name, which may hold spaces. `llama-gguf-hash --check` adds what it found.
std::string_view name_of(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  for (const std::string_view verdict : {"  -  Ok", "  -  Mismatch", "  -  Not Found"}) {
    if (rest.ends_with(verdict)) return rest.substr(0, rest.size() - verdict.size());
  }
  return rest;
}

[[noreturn]] void fail_line(const Manifest& manifest, std::uint64_t number,
                            const std::string& cause) {
  throw Error(
      ErrorCode::corrupt_data, "read manifest",
      manifest.path.string() + ", line " + std::to_string(number) + ": " + cause,
      "each line has the name of the hash, the hash and the name of the file, and ends with a "
      "line break");
}

// Other lines, such as sha1 or the results of a check, are ignored.
void read_lines(std::string_view text, Manifest& manifest) {
  std::array<std::vector<Manifest::Line>, 3> by_kind;
  std::array<std::unordered_set<std::string_view>, 3> names;
  bool has_others = false;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const bool is_whole = end != std::string_view::npos;
    text.remove_prefix(is_whole ? end + 1 : text.size());
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string_view word = next_word(line);
    if (word == "sha1" || word == "uuid") has_others = true;
    const auto kind = hash_kind_from_name(word);
    if (!kind) continue;
    const std::string_view hash = next_word(line);
    if (!is_hex(hash, digits_of(*kind))) {
      fail_line(manifest, number,
                "the hash must have " + std::to_string(digits_of(*kind)) +
                    " hexadecimal digits in lower case");
    }
    const std::string_view name = name_of(line);
    if (name.empty()) fail_line(manifest, number, "the name of the file is missing");
    if (!is_whole) fail_line(manifest, number, "no line break at its end; the file is truncated");
    if (!names[static_cast<std::size_t>(*kind)].insert(name).second) {
      fail_line(manifest, number, "second line for " + std::string(name));
    }
    by_kind[static_cast<std::size_t>(*kind)].push_back(
        {std::string(hash), std::string(name), number});
  }
  for (std::size_t i = 0; i < by_kind.size(); ++i) {
    if (by_kind[i].empty()) continue;
    manifest.kind = static_cast<HashKind>(i);  // strongest first
    manifest.lines = std::move(by_kind[i]);
    return;
  }
  throw Error(ErrorCode::input_failed, "read manifest",
              manifest.path.string() + (has_others ? " has only sha1 or uuid hashes"
                                                   : " is not a manifest of a known format"),
              "give JSON that `hiptool load --write-manifest` wrote, or lines of "
              "llama-gguf-hash with sha256, xxh64 or xxh3");
}

void append_quoted(std::string& text, std::string_view value) {
  if (!model::is_utf8(value)) {
    throw Error(ErrorCode::unsupported, "write manifest",
                "a tensor or file has a name that is not valid UTF-8, which JSON cannot hold",
                "give the manifest a name that ends in .xxh64");
  }
  constexpr std::string_view digits = "0123456789abcdef";
  text += '"';
  for (const char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else if (byte < 0x20) {
      text.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    } else {
      text += letter;
    }
  }
  text += '"';
}

void append_line(std::string& text, HashKind kind, const std::string& hash,
                 const std::string& name) {
  if (name.find_first_of("\r\n") != std::string::npos) {
    throw Error(ErrorCode::unsupported, "write manifest",
                "a manifest of lines cannot hold a name with a line break: " + name,
                "give the manifest a name that ends in .json");
  }
  std::string word(to_string(kind));
  word.resize(8, ' ');
  text.append(word).append("  ").append(hash).append("  ").append(name).append("\n");
}

}  // namespace

bool is_manifest(const std::filesystem::path& path) {
  if (base::names_format(path, "hiptool.manifest/")) return true;
  try {
    return read_manifest(path).kind.has_value();  // lines
  } catch (const Error&) {
    return false;
  }
}

Manifest read_manifest(const std::filesystem::path& path) {
  const base::File file = base::File::open(path);
  Manifest manifest;
  manifest.path = path;
  if (file.size_bytes() > most_manifest_bytes) {
    throw Error(ErrorCode::input_failed, "read manifest",
                path.string() + " is too large for a manifest", "is it the model itself?");
  }
  const auto read = [&file](std::uint64_t size_bytes) {
    std::string text(static_cast<std::size_t>(size_bytes), '\0');
    file.read_at(std::as_writable_bytes(std::span(text)), 0);
    return text;
  };
  constexpr std::uint64_t head_bytes = 64;
  std::string head = read(std::min(head_bytes, file.size_bytes()));
  const bool is_utf16 = base::is_utf16(head);
  head = base::decode_text(std::move(head));
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || head[first] != '{') {
    const std::string text = base::decode_text(read(file.size_bytes()));
    read_lines(text, manifest);
    return manifest;
  }
  if (is_utf16) {
    throw Error(ErrorCode::input_failed, "read manifest", path.string() + " is JSON in UTF-16",
                "save it as UTF-8, which JSON files must be in");
  }
  DigestReader(file, manifest).read();
  return manifest;
}

std::optional<HashKind> manifest_kind_of_name(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension.empty() ? std::nullopt : hash_kind_from_name(extension.substr(1));
}

std::string digest_manifest(const ModelFile& model, const ModelDigests& found) {
  const bool has_sha256 = found.sha256.has_value();
  const auto digests = [&](const std::string& digest, const std::string& sha256) {
    std::string text = "\"digest\": \"" + digest + "\"";
    if (has_sha256) text += ", \"sha256\": \"" + sha256 + "\"";
    return text + "}";
  };
  std::string text = "{\n  \"schema\": ";
  append_quoted(text, schema);
  text += ",\n  \"algorithm\": \"xxh3-64 of 16 KiB leaves\",\n  \"note\": ";
  append_quoted(text, has_sha256 ? sha256_note : xxh3_note);
  text += ",\n  \"digest\": \"" +
          base::to_hex(model_digest(model, digest_order(model), found.tensors)) +
          "\",\n  \"metadata\": [";
  for (std::size_t file = 0; file < model.files().size(); ++file) {
    const FileHashes::Metadata& metadata = found.metadata[file];
    text += file == 0 ? "\n    {\"file\": " : ",\n    {\"file\": ";
    append_quoted(text, model::name_in_model(model, model.files()[file]));
    text += ", \"bytes\": " + std::to_string(metadata.bytes) + ", " +
            digests(metadata.xxh3, metadata.sha256);
  }
  text += "\n  ],\n  \"tensors\": [";
  std::size_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    text += index == 0 ? "\n    {\"name\": " : ",\n    {\"name\": ";
    append_quoted(text, tensor.name);
    text += ", \"dtype\": ";
    append_quoted(text, tensor.type.name());
    text += ", \"shape\": " + shape_text(tensor.shape);
    text += ", \"bytes\": " + std::to_string(tensor.size_bytes) + ", " +
            digests(base::to_hex(found.tensors[index]),
                    has_sha256 ? (*found.sha256)[index] : std::string());
    ++index;
  }
  return text + "\n  ]\n}\n";
}

std::string hash_manifest(const ModelFile& model, HashKind kind, const FileHashes::Hashes& hashes) {
  std::string text;
  std::size_t tensor = 0;
  for (std::uint32_t file = 0; file < model.files().size(); ++file) {
    const std::string name = model.files()[file].path.string();
    for (; tensor < model.tensors().size() && model.tensors()[tensor].file == file; ++tensor) {
      append_line(text, kind, hashes.tensors[tensor], name + ":" + model.tensors()[tensor].name);
    }
    append_line(text, kind, hashes.chains[file], name);
  }
  return text;
}

}  // namespace hiptool::load
