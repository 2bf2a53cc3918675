// SPDX-License-Identifier: MIT
// Links every public header's own translation unit into one program: a definition in a header that
// is not inline fails here.
#include <cstring>

#include "hiptool/version.hpp"

int main() { return std::strlen(hiptool::version()) > 0 ? 0 : 1; }
