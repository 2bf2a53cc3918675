// SPDX-License-Identifier: MIT
/// What the stand-in "needy" is linked with and does not find at run time.
extern "C" int fake_dependency() { return 1; }
