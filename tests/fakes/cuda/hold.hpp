// SPDX-License-Identifier: MIT
/// A call that does not return until the test lets it: FAKE_CUDA_HOLD=NAME[:N] holds the N-th call
/// (1) of NAME, which is "init", "copy" (from 64 KiB on) or a kernel, whose launches are the calls;
/// ONE|OTHER is a call of either.
/// Without FAKE_CUDA_HOLD_FOLDER it never returns. That folder has two named pipes, which the test
/// keeps open for reading and writing: each call from the N-th on writes a byte to "reached", the
/// N-th then reads one from "go".
#pragma once
#include <string>

namespace hiptool::fake {

void hold(const std::string& name);

}  // namespace hiptool::fake
