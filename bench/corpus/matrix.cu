// Matrix products: CUDA cores, mma.sync, wgmma.
#include "corpus.cuh"

KERNEL matmul_naive(float const* a, float const* b, float* c, int n) {
  int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float s = 0;
  for (int k = 0; k < n; ++k) s += a[row * n + k] * b[k * n + col];
  c[row * n + col] = s;
}
KERNEL matmul_tile16(float const* a, float const* b, float* c, int n) {
  __shared__ float sa[16][16], sb[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float s = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    sa[ty][tx] = a[row * n + k0 + tx];
    sb[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) s += sa[ty][k] * sb[k][tx];
    __syncthreads();
  }
  c[row * n + col] = s;
}
// 64x64 tile, 16x16 threads of 4x4 results each.
KERNEL matmul_registers(float const* a, float const* b, float* c, int n) {
  __shared__ float sa[16][68], sb[16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  float const* ga = a + blockIdx.y * 64 * n;
  float const* gb = b + blockIdx.x * 64;
  float s[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sa[t % 16][t / 16 + i * 16] = ga[(t / 16 + i * 16) * n + k0 + t % 16];
#pragma unroll
    for (int i = 0; i < 4; ++i) sb[t / 64 + i * 4][t % 64] = gb[(k0 + t / 64 + i * 4) * n + t % 64];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float4 p = *reinterpret_cast<float4*>(&sa[k][ty * 4]), q = *reinterpret_cast<float4*>(&sb[k][tx * 4]);
      float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) s[i][j] += u[i] * v[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<float4*>(c + (blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4) = make_float4(s[i][0], s[i][1], s[i][2], s[i][3]);
}
__device__ void mma_bf16(float (&d)[4], unsigned const (&a)[4], unsigned const (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void mma_tf32(float (&d)[4], unsigned const (&a)[4], unsigned const (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <int CHAINS, bool TF32>
__device__ void mma_chains(float* y, int times) {
  float d[CHAINS][4] = {};
  unsigned one = 0x3f803f80, a[4] = {one + threadIdx.x, one, one, one}, b[2] = {one - threadIdx.x, one};
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) TF32 ? mma_tf32(d[c], a, b) : mma_bf16(d[c], a, b);
  float s = 0;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) s += d[c][0] + d[c][1] + d[c][2] + d[c][3];
  y[global_thread()] = s;
}
KERNEL mma_bf16_1(float* y, int times) { mma_chains<1, false>(y, times); }
KERNEL mma_bf16_4(float* y, int times) { mma_chains<4, false>(y, times); }
KERNEL mma_bf16_8(float* y, int times) { mma_chains<8, false>(y, times); }
KERNEL mma_tf32_1(float* y, int times) { mma_chains<1, true>(y, times); }
KERNEL mma_tf32_8(float* y, int times) { mma_chains<8, true>(y, times); }

// C = A B^T in bf16, tiles 64x64x32 staged in shared memory, fragments by ldmatrix; 4 warps, each 32x32.
KERNEL mma_matmul(__nv_bfloat16 const* a, __nv_bfloat16 const* b, float* c, int n) {
  __shared__ __nv_bfloat16 sa[64][40], sb[64][40];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
  float d[2][4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 32) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int r = t / 4 + i * 32, k = t % 4 * 8;
      *reinterpret_cast<float4*>(&sa[r][k]) = *reinterpret_cast<float4 const*>(a + size_t(blockIdx.y * 64 + r) * n + k0 + k);
      *reinterpret_cast<float4*>(&sb[r][k]) = *reinterpret_cast<float4 const*>(b + size_t(blockIdx.x * 64 + r) * n + k0 + k);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 16) {
      unsigned fa[2][4], fb[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                     : "r"(shared_address(&sa[wm + i * 16 + lane % 16][k + lane / 16 * 8])));
#pragma unroll
      for (int j = 0; j < 4; ++j)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(fb[j][0]), "=r"(fb[j][1])
                     : "r"(shared_address(&sb[wn + j * 8 + lane % 8][k + lane / 8 % 2 * 8])));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_bf16(d[i][j], fa[i], fb[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* p = c + size_t(blockIdx.y * 64 + wm + i * 16 + lane / 4) * n + blockIdx.x * 64 + wn + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(p) = make_float2(d[i][j][0], d[i][j][1]);
      *reinterpret_cast<float2*>(p + 8 * size_t(n)) = make_float2(d[i][j][2], d[i][j][3]);
    }
}
__device__ unsigned long long descriptor(void const* p) {  // no swizzle, K-major: core matrices of 8x16 bytes, 128 bytes apart
  unsigned long long d = (shared_address(p) & 0x3ffff) >> 4;
  return d | (8ull << 16) | (16ull << 32);
}
// m64n64k16 over operands that stay in shared memory: the tensor pipe alone.
KERNEL wgmma_loop(float* y, int times) {
  __shared__ alignas(128) __nv_bfloat16 sa[64 * 16], sb[64 * 16];
  for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) sa[i] = sb[i] = __float2bfloat16(i % 7);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[32] = {};
  unsigned long long da = descriptor(sa), db = descriptor(sb);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int t = 0; t < times; ++t) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,"
        "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),
          "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
          "+f"(d[31])
        : "l"(da), "l"(db));
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  float s = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) s += d[i];
  y[global_thread()] = s;
}
