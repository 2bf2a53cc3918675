// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hiptool/cancel.hpp"

namespace hiptool::base {

/// The text of a small file that a person named (thresholds, a report, kernel source), whole and
/// without a byte order mark (decode_text). Takes regular files and pipes, so that `<(zcat
/// run.json.gz)` works; a pipe that no process has open for writing is waited for 10 s. Throws
/// Error(input_failed) that names the path if that is missing, a folder, a device (/dev/zero has no
/// end) or longer than the limit, before more than the limit is read; Error(cancelled) within 0.1 s
/// of a cancellation.
std::string read_input_file(const std::filesystem::path& path, std::uint64_t limit_bytes,
                            const CancelToken* cancel = nullptr);

/// Whether the file begins as a document does that names this format, "hiptool.golden/".
bool names_format(const std::filesystem::path& path, std::string_view format);

}  // namespace hiptool::base
