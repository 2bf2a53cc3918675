// SPDX-License-Identifier: MIT
#include "hiptool/load_tensor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "load/dims.hpp"
#include "model/parts.hpp"

namespace hiptool {
namespace {

// Large enough for the full rate of a link, small enough to be pinned in a few milliseconds.
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

// Reads pieces into two slots in turn, so that one is read while the other is copied.
void copy_pieces(const base::File& file, std::uint64_t offset, const Buffer& destination,
                 const StreamRef& stream) {
  struct Slot {
    PinnedBuffer memory;
    Event copied;
  };
  const std::size_t size_bytes = destination.size_bytes();
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < (size_bytes > piece_bytes ? 2u : 1u); ++i) {
    slots.push_back({PinnedBuffer(stream.device(), std::min(size_bytes, piece_bytes)),
                     Event(stream.device(), Event::Kind::ordering)});
  }
  try {
    for (std::size_t at = 0, piece = 0; at < size_bytes; at += piece_bytes, ++piece) {
      Slot& slot = slots[piece % slots.size()];
      slot.copied.synchronize();
      const auto bytes = slot.memory.bytes().first(std::min(piece_bytes, size_bytes - at));
      file.read_at(bytes, offset + at);
      Buffer place = destination.view(at, bytes.size());
      copy_h2d(place, bytes, stream);
      slot.copied.record(stream);
    }
    stream.synchronize();
  } catch (...) {
    core::settle(stream);  // the slots are about to go
    throw;
  }
}

void read_into(const base::File& file, std::uint64_t offset, const Buffer& destination,
               const StreamRef* stream) {
  if (destination.is_empty()) return;
  if (stream != nullptr) return copy_pieces(file, offset, destination, *stream);
  const Stream own(destination.device());
  copy_pieces(file, offset, destination, own);
}

const TensorInfo& tensor_of(const ModelFile& model, std::string_view name) {
  const TensorInfo* const tensor = model.find(name);
  if (tensor != nullptr) return *tensor;
  throw Error(ErrorCode::not_found, "load tensor",
              model.path().string() + ": there is no tensor '" + std::string(name) + "'",
              "`hiptool load MODEL --dry-run --tensors` lists them");
}

void read_tensor(const ModelFile& model, const TensorInfo& tensor, const Buffer& destination,
                 const StreamRef* stream) {
  const ModelPart& part = model.files()[tensor.file];
  const base::File file = model::open_unchanged(part);
  read_into(file, tensor.file_offset, destination, stream);
  model::check_unchanged(part, file);
}

}  // namespace

std::optional<DType> dtype_of(ElementType type) noexcept {
  constexpr std::array<std::pair<std::string_view, DType>, 11> known{{{"F32", DType::f32},
                                                                      {"F16", DType::f16},
                                                                      {"BF16", DType::bf16},
                                                                      {"F64", DType::f64},
                                                                      {"U8", DType::u8},
                                                                      {"U32", DType::u32},
                                                                      {"I16", DType::i16},
                                                                      {"I32", DType::i32},
                                                                      {"I64", DType::i64},
                                                                      {"F8_E4M3", DType::f8e4m3},
                                                                      {"I8", DType::i8}}};
  const auto found =
      std::ranges::find_if(known, [&](const auto& entry) { return entry.first == type.name(); });
  return found != known.end() ? std::optional(found->second) : std::nullopt;
}

Weight load_weight(const Device& device, const ModelFile& model, std::string_view name) {
  const TensorInfo& tensor = tensor_of(model, name);
  const Buffer bytes(device, tensor.size_bytes);
  read_tensor(model, tensor, bytes, nullptr);
  return {bytes, tensor.type, tensor.shape};
}

Tensor load_tensor(const TensorMemory& memory, const ModelFile& model, std::string_view name) {
  const TensorInfo& tensor = tensor_of(model, name);
  const std::optional<DType> dtype = dtype_of(tensor.type);
  if (!dtype) {
    throw Error(ErrorCode::unsupported, "load tensor",
                "tensor '" + tensor.name + "' has elements of type " +
                    std::string(tensor.type.name()) + ", which is not a DType",
                "load_weight() gives its bytes, for ops::QuantisedTensor");
  }
  const auto dims = load::dims_slowest_first(model, tensor.shape);
  const Tensor result = Tensor::empty(memory, *dtype, dims);
  read_tensor(model, tensor, result.buffer().view(0, tensor.size_bytes),
              memory.stream() ? &*memory.stream() : nullptr);
  return result;
}

Tensor load_file_range(const TensorMemory& memory, const std::filesystem::path& path,
                       std::uint64_t offset_bytes, DType dtype,
                       std::span<const std::uint64_t> dims) {
  const auto refuse = [&](ErrorCode code, const std::string& reason, const std::string& hint) {
    throw Error(code, "load file range", path.string() + ": " + reason, hint);
  };
  if (element_size_bytes(dtype) == 0) {
    refuse(ErrorCode::invalid_argument, "invalid DType", "choose a DType");
  }
  if (offset_bytes % element_size_bytes(dtype) != 0) {
    refuse(ErrorCode::invalid_argument,
           "offset " + std::to_string(offset_bytes) + " is not a multiple of the " +
               base::plain_count_of(element_size_bytes(dtype), "byte") + " of " +
               std::string(to_string(dtype)),
           "choose the offset of an element");
  }
  const std::uint64_t count = Layout(dims).element_count();
  const base::File file = base::File::open(path);
  const std::uint64_t rest =
      offset_bytes <= file.size_bytes() ? file.size_bytes() - offset_bytes : 0;
  if (offset_bytes > file.size_bytes() || count > rest / element_size_bytes(dtype)) {
    refuse(ErrorCode::out_of_bounds,
           base::plain_count_of(count, "element") + " of " + std::string(to_string(dtype)) +
               " from offset " + std::to_string(offset_bytes) + " on exceed its " +
               base::plain_count_of(file.size_bytes(), "byte"),
           "choose a range inside the file");
  }
  const Tensor result = Tensor::empty(memory, dtype, dims);
  read_into(file, offset_bytes, result.buffer().view(0, count * element_size_bytes(dtype)),
            memory.stream() ? &*memory.stream() : nullptr);
  file.check_unchanged(file.size_bytes(), file.stamp());
  return result;
}

Tensor load_file_range(const TensorMemory& memory, const std::filesystem::path& path,
                       std::uint64_t offset_bytes, DType dtype,
                       std::initializer_list<std::uint64_t> dims) {
  return load_file_range(memory, path, offset_bytes, dtype,
                         std::span<const std::uint64_t>(dims.begin(), dims.size()));
}

}  // namespace hiptool
