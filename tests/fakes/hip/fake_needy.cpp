// SPDX-License-Identifier: MIT
/// A runtime whose dependency is missing.
extern "C" int fake_dependency();
extern "C" int hipInit(unsigned) { return fake_dependency(); }
