#include "device/cuda/checks.h"

namespace cutegen::cuda {

// For sm_70 and later, so that one text serves every GPU. The zone kernels take a table of {u64 address, u64 bytes} and run one CTA a
// zone; byte i of a zone holds (167 i + 13) & 255 (guard_byte). The checksum adds, over 16-byte words {a, b} at index i,
//   x = (a ^ i C0) C1;  x ^= x >> 32;  y = (b + x) C2;  y ^= y >> 29
// into one of 64 partial sums (by CTA), which the host adds up. C0-C2 are the odd constants of SplitMix64.
const char* const kChecksPtx = R"ptx(
.version 7.0
.target sm_70
.address_size 64

.visible .entry cutegen_zone_fill(.param .u64 zones_param)
{
  .reg .pred %finished;
  .reg .u32 %r, %byte;
  .reg .u64 %zones, %address, %bytes, %i, %step, %at;
  ld.param.u64 %zones, [zones_param];
  cvta.to.global.u64 %zones, %zones;
  mov.u32 %r, %ctaid.x;
  mad.wide.u32 %zones, %r, 16, %zones;
  ld.global.u64 %address, [%zones];
  ld.global.u64 %bytes, [%zones+8];
  mov.u32 %r, %tid.x;
  cvt.u64.u32 %i, %r;
  mov.u32 %r, %ntid.x;
  cvt.u64.u32 %step, %r;
fill_next:
  setp.ge.u64 %finished, %i, %bytes;
  @%finished bra fill_done;
  cvt.u32.u64 %r, %i;
  mad.lo.u32 %byte, %r, 167, 13;
  add.u64 %at, %address, %i;
  st.global.u8 [%at], %byte;
  add.u64 %i, %i, %step;
  bra fill_next;
fill_done:
  ret;
}

.visible .entry cutegen_zone_check(.param .u64 zones_param, .param .u64 first_bad_param)
{
  .reg .pred %finished, %broken;
  .reg .u32 %r, %byte, %found;
  .reg .u64 %zones, %address, %bytes, %i, %step, %at, %first_bad;
  ld.param.u64 %zones, [zones_param];
  ld.param.u64 %first_bad, [first_bad_param];
  cvta.to.global.u64 %zones, %zones;
  cvta.to.global.u64 %first_bad, %first_bad;
  mov.u32 %r, %ctaid.x;
  mad.wide.u32 %zones, %r, 16, %zones;
  mad.wide.u32 %first_bad, %r, 8, %first_bad;
  ld.global.u64 %address, [%zones];
  ld.global.u64 %bytes, [%zones+8];
  mov.u32 %r, %tid.x;
  cvt.u64.u32 %i, %r;
  mov.u32 %r, %ntid.x;
  cvt.u64.u32 %step, %r;
check_next:
  setp.ge.u64 %finished, %i, %bytes;
  @%finished bra check_done;
  cvt.u32.u64 %r, %i;
  mad.lo.u32 %byte, %r, 167, 13;
  and.b32 %byte, %byte, 255;
  add.u64 %at, %address, %i;
  ld.global.u8 %found, [%at];
  setp.ne.u32 %broken, %found, %byte;
  @%broken red.global.min.u64 [%first_bad], %i;
  add.u64 %i, %i, %step;
  bra check_next;
check_done:
  ret;
}

.visible .entry cutegen_checksum(.param .u64 data_param, .param .u64 words_param, .param .u64 sums_param)
{
  .reg .pred %finished;
  .reg .u32 %cta, %threads, %r;
  .reg .u64 %data, %words, %sums, %i, %step, %at, %a, %b, %x, %y, %sum;
  ld.param.u64 %data, [data_param];
  ld.param.u64 %words, [words_param];
  ld.param.u64 %sums, [sums_param];
  cvta.to.global.u64 %data, %data;
  cvta.to.global.u64 %sums, %sums;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %r, %tid.x;
  cvt.u64.u32 %i, %r;
  mad.wide.u32 %i, %cta, %threads, %i;
  mov.u32 %r, %nctaid.x;
  mul.wide.u32 %step, %r, %threads;
  mov.u64 %sum, 0;
sum_next:
  setp.ge.u64 %finished, %i, %words;
  @%finished bra sum_done;
  shl.b64 %at, %i, 4;
  add.u64 %at, %data, %at;
  ld.global.v2.u64 {%a, %b}, [%at];
  mul.lo.u64 %x, %i, 0x9e3779b97f4a7c15;
  xor.b64 %x, %x, %a;
  mul.lo.u64 %x, %x, 0xbf58476d1ce4e5b9;
  shr.u64 %y, %x, 32;
  xor.b64 %x, %x, %y;
  add.u64 %y, %b, %x;
  mul.lo.u64 %y, %y, 0x94d049bb133111eb;
  shr.u64 %x, %y, 29;
  xor.b64 %y, %y, %x;
  add.u64 %sum, %sum, %y;
  add.u64 %i, %i, %step;
  bra sum_next;
sum_done:
  and.b32 %r, %cta, 63;
  mad.wide.u32 %sums, %r, 8, %sums;
  red.global.add.u64 [%sums], %sum;
  ret;
}

.visible .entry cutegen_spin(.param .u64 ns_param)
{
  .reg .pred %waiting;
  .reg .u64 %ns, %start, %now;
  ld.param.u64 %ns, [ns_param];
  mov.u64 %start, %globaltimer;
spin_again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %waiting, %now, %ns;
  @%waiting bra spin_again;
  ret;
}
)ptx";

}  // namespace cutegen::cuda
