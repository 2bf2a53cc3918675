// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <string>

#include "hiptool/error.hpp"

namespace hiptool::base {

/// What an exception means to the user: an Error as it is; no memory, no thread and failing disks
/// as failures of the host; anything else as a defect of hiptool.
Error to_error(const std::exception& exception);

/// The code for an input that could not be read: an I/O error is the host's fault, all else is that
/// of the file or its path.
ErrorCode code_of_read(int number) noexcept;
/// The next thing to try after one; empty: there is none.
std::string hint_of_read(int number);

}  // namespace hiptool::base
