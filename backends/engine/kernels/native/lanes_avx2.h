// AVX2 lanes (with FMA and F16C): sixteen lanes are two registers.
#pragma once
#include <immintrin.h>

namespace lanes {

struct F { __m256 a, b; };
struct I { __m256i a, b; };
using Raw = I;
using Pair = __m256i;
struct Quad { __m256i even, odd; };
constexpr int BLOCK = 4;
constexpr int FMA = 2, DOT2 = 4, DOT4 = 8;

inline F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, F x) { _mm256_storeu_ps(p, x.a); _mm256_storeu_ps(p + 8, x.b); }
inline F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline F fma(F x, F y, F z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
inline F fnma(F x, F y, F z) { return {_mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b)}; }
inline F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline F min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline F round(F x) {
  constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, mode), _mm256_round_ps(x.b, mode)};
}
inline __m256 scale2(__m256 x, __m256 n) {
  const __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(x, _mm256_castsi256_ps(e));
}
inline F scale2(F x, F n) { return {scale2(x.a, n.a), scale2(x.b, n.b)}; }
inline float sum(F x) {
  const __m256 h = _mm256_add_ps(x.a, x.b);
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
inline float largest(F x) {
  const __m256 h = _mm256_max_ps(x.a, x.b);
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}
inline F first(F x, int n, F other) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 a = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane));
  const __m256 b = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), lane));
  return {_mm256_blendv_ps(other.a, x.a, a), _mm256_blendv_ps(other.b, x.b, b)};
}

inline I int1(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline I to_int(F x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
inline F to_float(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
inline I add(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
inline I high7(I x) { return {_mm256_srai_epi32(x.a, 7), _mm256_srai_epi32(x.b, 7)}; }
inline I low7(I x) {
  const __m256i m = _mm256_set1_epi32(127);
  return {_mm256_and_si256(x.a, m), _mm256_and_si256(x.b, m)};
}
inline I times128(I x) { return {_mm256_slli_epi32(x.a, 7), _mm256_slli_epi32(x.b, 7)}; }
inline int32_t sum(I x) {
  const __m256i h = _mm256_add_epi32(x.a, x.b);
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
inline __m128i halves(__m256i x, __m128i (*pack)(__m128i, __m128i)) {
  return pack(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
inline void store_int8(int8_t* p, I x) {
  const __m128i lo = halves(x.a, _mm_packs_epi32), hi = halves(x.b, _mm_packs_epi32);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(lo, hi));
}

inline F from_f16(const uint16_t* p) {
  const __m128i* q = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
inline __m256 widen(__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); }
inline F from_bf16(const uint16_t* p) {
  const __m128i* q = reinterpret_cast<const __m128i*>(p);
  return {widen(_mm_loadu_si128(q)), widen(_mm_loadu_si128(q + 1))};
}
inline __m256i rounded(__m256 x) {
  const __m256i u = _mm256_castps_si256(x);
  const __m256i tie = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  return _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(tie, _mm256_set1_epi32(0x7fff))), 16);
}
inline void store_bf16(uint16_t* p, F x) {
  __m128i* q = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(q, halves(rounded(x.a), _mm_packus_epi32));
  _mm_storeu_si128(q + 1, halves(rounded(x.b), _mm_packus_epi32));
}

inline Raw raw(const void* p) {
  const __m256i* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
inline __m256i nibbles(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
inline Raw low_nibbles(Raw x) { return {nibbles(x.a), nibbles(x.b)}; }
inline Raw high_nibbles(Raw x) { return {nibbles(_mm256_srli_epi16(x.a, 4)), nibbles(_mm256_srli_epi16(x.b, 4))}; }
inline Raw without_odd(Raw x) {
  const __m256i m = _mm256_set1_epi32(0xffff);
  return {_mm256_and_si256(x.a, m), _mm256_and_si256(x.b, m)};
}

// Bytes 0 and 2, and bytes 1 and 3, of each lane as int16: two madd add up four exact products without saturation.
inline Quad quad(const int8_t* p) {
  int32_t x;
  std::memcpy(&x, p, 4);
  const __m256i v = _mm256_set1_epi32(x);
  return {_mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), _mm256_srai_epi16(v, 8)};
}
inline __m256i dot4(__m256i acc, __m256i w, Quad x) {
  const __m256i even = _mm256_and_si256(w, _mm256_set1_epi16(0xff)), odd = _mm256_srli_epi16(w, 8);
  const __m256i s = _mm256_add_epi32(_mm256_madd_epi16(even, x.even), _mm256_madd_epi16(odd, x.odd));
  return _mm256_add_epi32(acc, s);
}
inline I dot4(I acc, Raw w, Quad x) { return {dot4(acc.a, w.a, x), dot4(acc.b, w.b, x)}; }

inline Pair pair(const uint16_t* p) {
  int32_t x;
  std::memcpy(&x, p, 4);
  return _mm256_set1_epi32(x);
}
inline __m256 even(__m256i x) { return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)); }
inline __m256 odd(__m256i x) { return _mm256_castsi256_ps(_mm256_andnot_si256(_mm256_set1_epi32(0xffff), x)); }
inline F dot2(F acc, Raw w, Pair x) {
  const __m256 e = even(x), o = odd(x);
  return {_mm256_fmadd_ps(odd(w.a), o, _mm256_fmadd_ps(even(w.a), e, acc.a)),
          _mm256_fmadd_ps(odd(w.b), o, _mm256_fmadd_ps(even(w.b), e, acc.b))};
}

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
inline void prefetch_far(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
inline void relax() { _mm_pause(); }

}  // namespace lanes
