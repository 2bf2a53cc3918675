// SPDX-License-Identifier: MIT
/// A fake libhiprtc that has each call and does nothing.
extern "C" {

int hiprtcCreateProgram() { return 0; }
int hiprtcCompileProgram() { return 0; }
int hiprtcGetProgramLogSize() { return 0; }
int hiprtcGetProgramLog() { return 0; }
int hiprtcGetCodeSize() { return 0; }
int hiprtcGetCode() { return 0; }
int hiprtcDestroyProgram() { return 0; }
const char* hiprtcGetErrorString() { return "a fake error"; }
}
