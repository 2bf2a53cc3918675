// SPDX-License-Identifier: MIT
#include "model/file_kind.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "model/gguf.hpp"
#include "model/safetensors.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

struct ForeignKind {
  std::string_view start;  // of the file, in upper or lower case
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view old_ggml_hint =
    "convert the original model to GGUF with convert_hf_to_gguf.py of llama.cpp";
constexpr std::string_view page_hint =
    "this is often an error page saved in place of a download; download the model again";
constexpr std::string_view program_hint =
    "name a .gguf or .safetensors file; a llamafile holds one, which `unzip` takes out";
constexpr std::string_view whisper_hint =
    "convert the original model to GGUF with convert_hf_to_gguf.py of llama.cpp; models of "
    "whisper.cpp have this format to this day, and are not read";
constexpr std::string_view pickle_hint =
    "convert it to safetensors with `safetensors.torch.save_file`";
constexpr std::string_view other_hint = "convert the original model to safetensors or GGUF";
constexpr std::string_view unpack_hint = "unpack it first";

constexpr std::string_view apple_double("\0\x05\x16\x07", 4);

// The magics of ggml are u32 numbers: little-endian files have their letters in reverse order.
constexpr std::array foreign_kinds{
    ForeignKind{"version https://git-lfs", "a Git LFS pointer, not the model itself",
                "fetch the model with `git lfs pull`"},
    ForeignKind{"/annex/objects/", "a git-annex pointer, not the model itself",
                "fetch the model with `git annex get`"},
    ForeignKind{"# xet version", "a Xet pointer, not the model itself",
                "download the model with `hf download`"},
    ForeignKind{"outs:\n", "a pointer of DVC, not the model itself",
                "fetch the model with `dvc pull`, and name it"},
    ForeignKind{"[zonetransfer]",
                "what Windows notes about a download (Zone.Identifier), not a model",
                "name the file without :Zone.Identifier at the end of its name"},
    ForeignKind{"d8:announce", "a torrent, which only names a download",
                "download the model with a torrent client"},
    ForeignKind{apple_double, "macOS's attributes of another file (AppleDouble), not a model",
                "name the file without ._ in front of its name"},
    ForeignKind{"lmgg", "a GGML file, a format from before GGUF", whisper_hint},
    ForeignKind{"ggml", "a GGML file, a format from before GGUF", whisper_hint},
    ForeignKind{"fmgg", "a GGMF file, a format from before GGUF", old_ggml_hint},
    ForeignKind{"ggmf", "a GGMF file, a format from before GGUF", old_ggml_hint},
    ForeignKind{"tjgg", "a GGJT file, a format from before GGUF", old_ggml_hint},
    ForeignKind{"ggjt", "a GGJT file, a format from before GGUF", old_ggml_hint},
    ForeignKind{"algg", "a GGLA adapter, a format from before GGUF", old_ggml_hint},
    ForeignKind{"ggla", "a GGLA adapter, a format from before GGUF", old_ggml_hint},
    ForeignKind{"<!doctype", "a web page, not a model", page_hint},
    ForeignKind{"<html", "a web page, not a model", page_hint},
    ForeignKind{"<?xml version=\"1.0\"?>\n<net ", "the network of an OpenVINO model", other_hint},
    ForeignKind{"<?xml", "an XML text, not a model", page_hint},
    ForeignKind{"#version:", "the merges of a tokenizer (merges.txt), not a model",
                "name the folder of its model"},
    ForeignKind{"---\n", "a model card (README.md) or another text with YAML in front, not a model",
                "name the folder of its model"},
    ForeignKind{"{%", "a chat template (Jinja), not a model", "name the folder of its model"},
    ForeignKind{"{{", "a chat template (Jinja), not a model", "name the folder of its model"},
    ForeignKind{"{#", "a chat template (Jinja), not a model", "name the folder of its model"},
    ForeignKind{"pk\x03\x04", "a zip archive, such as a PyTorch checkpoint", pickle_hint},
    ForeignKind{"pk\x05\x06", "an empty zip archive", "download the model again"},
    ForeignKind{"\x80\x02", "a Python pickle, such as an old PyTorch checkpoint", pickle_hint},
    ForeignKind{"\x80\x03", "a Python pickle", pickle_hint},
    ForeignKind{"\x80\x04", "a Python pickle", pickle_hint},
    ForeignKind{"\x80\x05", "a Python pickle", pickle_hint},
    ForeignKind{"litertlm", "a LiteRT-LM model", other_hint},
    ForeignKind{"par1", "a Parquet table, such as a data set",
                "name the .gguf or .safetensors file of a model"},
    ForeignKind{"\x93numpy", "a NumPy array (.npy)",
                "convert it to safetensors with `safetensors.numpy.save_file`"},
    ForeignKind{"\x89hdf\r\n\x1a\n", "an HDF5 file, such as a Keras model", other_hint},
    ForeignKind{"\x7f"
                "elf",
                "a program or library (ELF)", program_hint},
    ForeignKind{"mz", "a program (Windows or llamafile)", program_hint},
    ForeignKind{"\x1f\x8b", "a gzip archive", unpack_hint},
    ForeignKind{"(\xb5/\xfd", "a zstd archive", unpack_hint},
    ForeignKind{"\xfd"
                "7zxz",
                "an xz archive", unpack_hint},
    ForeignKind{"bzh", "a bzip2 archive", unpack_hint},
    ForeignKind{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", unpack_hint},
    ForeignKind{"rar!\x1a\x07", "a RAR archive", unpack_hint},
    ForeignKind{"\x04\"m\x18", "an LZ4 archive", unpack_hint},
};

struct MarkedKind {
  std::size_t offset;
  std::string_view mark;
  std::string_view name;
  std::string_view hint;
};

// Kinds that bytes further on identify.
constexpr std::array marked_kinds{
    MarkedKind{257, "ustar", "a tar archive", unpack_hint},
    MarkedKind{4, "TFL3", "a TensorFlow Lite model", other_hint},
};

// What llama-imatrix wrote before 2025 (.dat): a count, and for each tensor the length of its name,
// the name and numbers.
bool is_old_imatrix(std::string_view head) {
  constexpr std::uint32_t most_entries = 65'536;
  constexpr std::uint32_t most_name_bytes = 63;
  std::array<std::uint32_t, 2> counts{};
  if (head.size() < sizeof counts) return false;
  std::memcpy(counts.data(), head.data(), sizeof counts);
  const auto [entries, name_bytes] = counts;
  if (entries == 0 || entries > most_entries || name_bytes == 0 || name_bytes > most_name_bytes) {
    return false;
  }
  const std::string_view name = head.substr(sizeof counts, name_bytes);
  return name.size() == name_bytes && name.ends_with(".weight");
}

// The archive of numpy.savez: the name of its first member follows the fixed part of the header.
bool is_numpy_archive(std::string_view head) {
  constexpr std::size_t length_at = 26;
  constexpr std::size_t name_at = 30;
  if (!head.starts_with("PK\x03\x04") || head.size() < name_at) return false;
  const auto length = static_cast<std::uint8_t>(head[length_at]);
  return head[length_at + 1] == '\0' && head.substr(name_at, length).ends_with(".npy");
}

// The algorithm of a line of sha256sum and the like, such as Meta's checklist.chk (MD5); else
// empty.
std::string_view algorithm_of_hash_list(std::string_view text) {
  constexpr std::array<std::pair<std::size_t, std::string_view>, 4> digits{
      {{32, "MD5"}, {40, "SHA-1"}, {64, "SHA-256"}, {128, "SHA-512"}}};
  const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF");
  if (end == std::string_view::npos || (text[end] != ' ' && text[end] != '\t')) return {};
  const auto found =
      std::ranges::find_if(digits, [end](const auto& one) { return one.first == end; });
  return found == digits.end() ? std::string_view() : found->second;
}

// A protocol buffer whose first field is a piece of the vocabulary, with a text and a score.
bool is_sentencepiece(std::string_view head) {
  if (head.size() < 8 || head[0] != '\n' || head[2] != '\n') return false;
  const auto piece_bytes = static_cast<std::uint8_t>(head[1]);
  const auto text_bytes = static_cast<std::uint8_t>(head[3]);
  const std::size_t score = std::size_t{4} + text_bytes;
  return piece_bytes > text_bytes && score < head.size() && head[score] == '\x15';
}

// The first line of a text, such as "Entry not found" from a server; empty for other bytes. Of a
// short one the lines after it must be a text too.
std::string_view shown_line(std::string_view text) {
  constexpr std::size_t least_bytes = 8;
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const std::string_view judged = line.size() < least_bytes ? text : line;
  const bool is_plain = std::ranges::all_of(judged, [](char letter) {
    const bool is_control = static_cast<std::uint8_t>(letter) < ' ' || letter == '\x7f';
    return !is_control || letter == '\n' || letter == '\r' || letter == '\t';
  });
  return is_plain && judged.size() >= least_bytes && is_utf8(judged) ? line : std::string_view();
}

// ONNX has no magic: a protocol buffer whose first field is the version of the format (8 and a
// small number), followed by the producer's name or the field after it (0x12 to 0x3A, lengths).
bool is_onnx(std::string_view head) {
  if (head.size() < 16 || head[0] != 8 || head[1] < 1 || head[1] > 32) return false;
  constexpr std::string_view fields("\x12\x1a\x22\x2a\x32\x3a\x42");
  if (fields.find(head[2]) == std::string_view::npos) return false;
  return head[3] > 0 && (head[4] >= ' ' || head[4] == 8);
}

std::string_view without_leading_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::string_view without_mark(std::string_view text) {
  if (text.starts_with(base::byte_order_mark)) text.remove_prefix(base::byte_order_mark.size());
  return text;
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    if (!text.empty()) text += ' ';
    append_hex(text, static_cast<std::uint8_t>(byte));
  }
  return text;
}

// True when the first 8 bytes are a header length that safetensors allows. No text and no other
// known magic is: their eight bytes make numbers far above the limit.
bool has_safetensors_length(std::string_view head) {
  std::uint64_t length = 0;
  if (head.size() < sizeof length) return false;
  std::memcpy(&length, head.data(), sizeof length);
  return length <= most_safetensors_header_bytes;
}

}  // namespace

FileKind find_kind(const base::File& file, const Diagnostics& diagnostics) {
  if (file.size_bytes() == 0) {
    diagnostics.corrupt({}, "the file is empty", "download the model again");
  }
  std::array<char, 512> buffer{};
  const std::string_view head(buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                 buffer.size(), file.size_bytes())));
  file.read_at(std::as_writable_bytes(std::span(buffer.data(), head.size())), 0);
  const auto refuse = [&](std::string_view name, std::string_view hint) {
    diagnostics.unreadable_kind({}, "the file is " + std::string(name), hint);
  };

  if (head.starts_with(gguf_magic)) return FileKind::gguf;
  if (head.starts_with("FUGG")) {
    refuse("big-endian GGUF, which is not read",
           "make it little-endian with gguf_convert_endian.py of llama.cpp");
  }
  const bool has_brace = head.size() > 8 && head[8] == '{';
  for (const MarkedKind& kind : marked_kinds) {
    const std::string_view rest = head.substr(std::min(kind.offset, head.size()));
    if (!has_brace && rest.starts_with(kind.mark)) refuse(kind.name, kind.hint);
  }
  if (is_old_imatrix(head)) {
    refuse("an importance matrix (imatrix, old .dat format), not a model",
           "name the model; llama-quantize --imatrix takes this file");
  }
  if (has_safetensors_length(head)) {
    if (std::ranges::all_of(head, [](char byte) { return byte == '\0'; })) {
      diagnostics.corrupt({}, "the file begins with zero bytes; its download is incomplete",
                          "download the model again");
    }
    return FileKind::safetensors;
  }
  if (base::is_utf16(head))
    refuse("UTF-16 text", "if it is an index or a manifest, save it as UTF-8");
  const std::string_view text = without_leading_space(without_mark(head));
  if (is_numpy_archive(head)) {
    refuse("an archive of NumPy arrays (.npz)",
           "convert it to safetensors with `safetensors.numpy.save_file`");
  }
  for (const ForeignKind& kind : foreign_kinds) {
    if (base::equals_ignoring_case(text.substr(0, kind.start.size()), kind.start)) {
      refuse(kind.name, kind.hint);
    }
  }
  // A safetensors header whose length is damaged still begins with its brace.
  if (has_brace && head[7] == '\0') return FileKind::safetensors;
  if (is_onnx(head)) refuse("an ONNX model", other_hint);
  if (text.starts_with('{') || text.starts_with('[')) return FileKind::json;
  if (is_sentencepiece(head)) {
    refuse("a SentencePiece tokenizer (tokenizer.model), not a model",
           "name the folder of its model");
  }
  if (text.starts_with("FROM ")) {
    refuse("a Modelfile of Ollama, which only names a model", "name the model that follows FROM");
  }
  if (const auto algorithm = algorithm_of_hash_list(text); !algorithm.empty()) {
    refuse("a list of " + std::string(algorithm) + ", not a model",
           algorithm == "SHA-256" ? "name the file that it lists; --verify published compares them"
                                  : "name the file that it lists");
  }
  const std::string_view line = shown_line(text);
  if (!line.empty()) {
    refuse("a text, not a model: " + in_quotes(line),
           "this may be what a server answered in place of a download; download the model again, "
           "with a token if its repository is private or gated");
  }
  if (head.size() < 8) {
    diagnostics.truncated({}, "the file has only " + base::plain_count_of(head.size(), "byte"));
  }
  diagnostics.unreadable_kind(
      {},
      "the file is neither GGUF nor safetensors; it begins with " + hexadecimal(head.substr(0, 8)),
      "name a .gguf or .safetensors file");
}

}  // namespace hiptool::model
