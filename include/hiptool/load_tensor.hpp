// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>

#include "hiptool/dtype.hpp"
#include "hiptool/export.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/tensor.hpp"

/// Parts of files in device memory, without a load of the whole model. Bytes arrive as the file has
/// them and are not verified; load_model() does that. All of these block until the bytes are there,
/// read through the page cache, and throw Error(input_failed), with path and offset, for a file
/// that cannot be opened or read, ends too early or changed since the model was parsed or the call
/// began, Error(out_of_memory), and what copies throw.
namespace hiptool {

/// One tensor of a model, in blocks as the file stores them. Throws Error(not_found) for a name
/// that the model does not have.
[[nodiscard]] HIPTOOL_API Weight load_weight(const Device& device, const ModelFile& model,
                                             std::string_view name);

/// The same as a contiguous tensor, its dims slowest first (of a GGUF the other way round).
/// Besides throws Error(unsupported), naming the type, for types without a DType: quantised ones,
/// I8, U16, U64, BOOL, F4, F6 and the other F8 types.
[[nodiscard]] HIPTOOL_API Tensor load_tensor(const TensorMemory& memory, const ModelFile& model,
                                             std::string_view name);

/// Elements of any file from that offset in bytes on, as a contiguous tensor. Besides throws
/// Error(out_of_bounds) where the file is shorter, Error(invalid_argument) for an offset that is
/// not a multiple of the element's size, and what Layout throws for the dims.
[[nodiscard]] HIPTOOL_API Tensor load_file_range(const TensorMemory& memory,
                                                 const std::filesystem::path& file,
                                                 std::uint64_t offset_bytes, DType dtype,
                                                 std::span<const std::uint64_t> dims);
[[nodiscard]] HIPTOOL_API Tensor load_file_range(const TensorMemory& memory,
                                                 const std::filesystem::path& file,
                                                 std::uint64_t offset_bytes, DType dtype,
                                                 std::initializer_list<std::uint64_t> dims);

}  // namespace hiptool
