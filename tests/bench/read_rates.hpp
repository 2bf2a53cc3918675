// SPDX-License-Identifier: MIT
/// What a machine can read of a file at most, by plain loops that share nothing with the loader.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace hiptool::bench {

/// Bytes per second of preads from all threads, each of `request_bytes` at the next place of the
/// file, into `destination`: at the same offset modulo its size, so one as large as the file is
/// filled whole and a small one again and again. Direct: with O_DIRECT, into buffers of each
/// thread. Throws std::runtime_error naming what failed.
double read_rate(const std::filesystem::path& path, std::uint32_t threads,
                 std::uint64_t request_bytes, std::span<std::byte> destination);
double direct_read_rate(const std::filesystem::path& path, std::uint32_t threads,
                        std::uint64_t request_bytes);

/// Drops the file from the page cache; throws unless nothing of it is cached afterwards.
void evict(const std::filesystem::path& path);
/// Reads the file, so that it is cached; gives back the share that is.
double warm(const std::filesystem::path& path);

double median(std::vector<double> values);

}  // namespace hiptool::bench
