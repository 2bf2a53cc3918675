// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::conformance {

/// The kernels of kernels/kernels.hip, written by hand for every NVIDIA device from Pascal on.
inline constexpr const char* nvidia_image = R"ptx(
.version 6.0
.target sm_60
.address_size 64

// (const float* a, const float* b, float* sum, unsigned n)
.visible .entry conformance_vector_add(
  .param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 n)
{
  .reg .pred %past;
  .reg .b32 %i, %count, %block, %threads, %thread;
  .reg .b64 %from_a, %from_b, %to, %offset;
  .reg .f32 %x, %y;
  ld.param.u32 %count, [n];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  setp.ge.u32 %past, %i, %count;
  @%past bra end;
  ld.param.u64 %from_a, [a];
  ld.param.u64 %from_b, [b];
  ld.param.u64 %to, [sum];
  cvta.to.global.u64 %from_a, %from_a;
  cvta.to.global.u64 %from_b, %from_b;
  cvta.to.global.u64 %to, %to;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %from_a, %from_a, %offset;
  add.u64 %from_b, %from_b, %offset;
  add.u64 %to, %to, %offset;
  ld.global.f32 %x, [%from_a];
  ld.global.f32 %y, [%from_b];
  add.f32 %x, %x, %y;
  st.global.f32 [%to], %x;
end:
  ret;
}

// (unsigned* values, unsigned digit, unsigned n)
.visible .entry conformance_append_digit(
  .param .u64 values, .param .u32 digit, .param .u32 n)
{
  .reg .pred %past;
  .reg .b32 %i, %count, %block, %threads, %thread, %value, %last;
  .reg .b64 %place, %offset;
  ld.param.u32 %count, [n];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  setp.ge.u32 %past, %i, %count;
  @%past bra end;
  ld.param.u64 %place, [values];
  cvta.to.global.u64 %place, %place;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %place, %place, %offset;
  ld.param.u32 %last, [digit];
  ld.global.u32 %value, [%place];
  mad.lo.u32 %value, %value, 10, %last;
  st.global.u32 [%place], %value;
end:
  ret;
}
)ptx";

}  // namespace hiptool::conformance
