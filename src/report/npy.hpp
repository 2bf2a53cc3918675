// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace hiptool::report {

/// What precedes the elements of an array of rows x columns, f32, little endian, row after row, in
/// an .npy file of version 1.0 (NEP 1; numpy.lib.format): a multiple of 64 bytes.
std::string npy_header(std::uint64_t rows, std::uint64_t columns);

/// Whether the file begins as one does. False where it cannot be read.
bool is_npy(const std::filesystem::path& path);

}  // namespace hiptool::report
