// AVX-512 lanes (F, BW, VL, DQ, VNNI); bf16 products in hardware where __AVX512BF16__ says so.
#pragma once
#include <immintrin.h>

namespace lanes {

using F = __m512;
using I = __m512i;
using Raw = __m512i;
using Pair = __m512i;
using Quad = __m512i;
constexpr int BLOCK = 16;
constexpr int FMA = 1, DOT4 = 1;

inline F zero() { return _mm512_setzero_ps(); }
inline F set1(float x) { return _mm512_set1_ps(x); }
inline F load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, F x) { _mm512_storeu_ps(p, x); }
inline F add(F a, F b) { return _mm512_add_ps(a, b); }
inline F sub(F a, F b) { return _mm512_sub_ps(a, b); }
inline F mul(F a, F b) { return _mm512_mul_ps(a, b); }
inline F div(F a, F b) { return _mm512_div_ps(a, b); }
inline F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
inline F max(F a, F b) { return _mm512_max_ps(a, b); }
inline F min(F a, F b) { return _mm512_min_ps(a, b); }
inline F round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline F scale2(F x, F n) { return _mm512_scalef_ps(x, n); }
inline float sum(F x) { return _mm512_reduce_add_ps(x); }
inline float largest(F x) { return _mm512_reduce_max_ps(x); }
inline F first(F x, int n, F other) { return _mm512_mask_mov_ps(other, static_cast<__mmask16>((1u << n) - 1), x); }

inline I int1(int32_t x) { return _mm512_set1_epi32(x); }
inline I to_int(F x) { return _mm512_cvtps_epi32(x); }
inline F to_float(I x) { return _mm512_cvtepi32_ps(x); }
inline I add(I a, I b) { return _mm512_add_epi32(a, b); }
inline I high7(I x) { return _mm512_srai_epi32(x, 7); }
inline I low7(I x) { return _mm512_and_si512(x, _mm512_set1_epi32(127)); }
inline I times128(I x) { return _mm512_slli_epi32(x, 7); }
inline int32_t sum(I x) { return _mm512_reduce_add_epi32(x); }
inline void store_int8(int8_t* p, I x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(x));
}

inline F from_f16(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline F from_bf16(const uint16_t* p) {
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

inline Raw raw(const void* p) { return _mm512_loadu_si512(p); }
inline Raw low_nibbles(Raw x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
inline Raw high_nibbles(Raw x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15)); }
inline Raw without_odd(Raw x) { return _mm512_and_si512(x, _mm512_set1_epi32(0xffff)); }

inline Quad quad(const int8_t* p) {
  int32_t x;
  std::memcpy(&x, p, 4);
  return _mm512_set1_epi32(x);
}
inline I dot4(I acc, Raw w, Quad x) { return _mm512_dpbusd_epi32(acc, w, x); }

inline Pair pair(const uint16_t* p) {
  int32_t x;
  std::memcpy(&x, p, 4);
  return _mm512_set1_epi32(x);
}

#if defined(__AVX512BF16__)
constexpr int DOT2 = 1;
inline F dot2(F acc, Raw w, Pair x) { return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x); }
inline void store_bf16(uint16_t* p, F x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh(x));
}
#else
constexpr int DOT2 = 4;
inline F even(__m512i x) { return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)); }
inline F odd(__m512i x) { return _mm512_castsi512_ps(_mm512_andnot_si512(_mm512_set1_epi32(0xffff), x)); }
inline F dot2(F acc, Raw w, Pair x) { return fma(odd(w), odd(x), fma(even(w), even(x), acc)); }
inline void store_bf16(uint16_t* p, F x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i tie = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i r = _mm512_add_epi32(u, _mm512_add_epi32(tie, _mm512_set1_epi32(0x7fff)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16)));
}
#endif

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
inline void prefetch_far(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
inline void relax() { _mm_pause(); }

}  // namespace lanes
