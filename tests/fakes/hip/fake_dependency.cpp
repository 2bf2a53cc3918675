// SPDX-License-Identifier: MIT
/// What the fake "needy" is linked with and does not find at run time.
extern "C" int fake_dependency() { return 1; }
