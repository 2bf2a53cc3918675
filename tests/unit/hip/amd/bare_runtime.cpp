// SPDX-License-Identifier: MIT
/// A runtime that knows its version and how many devices there are, and nothing else.
extern "C" int hipRuntimeGetVersion(int* version) {
  *version = 70253211;
  return 0;
}

extern "C" {
int bare_runtime_devices = 1;

int hipGetDeviceCount(int* count) {
  *count = bare_runtime_devices;
  return bare_runtime_devices > 0 ? 0 : 100;
}
}
