// SPDX-License-Identifier: MIT
#pragma once

/// Called, so that the kernels of broken_kernels.cpp are in the program.
void keep_broken_kernels();
