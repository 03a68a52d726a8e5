// Portable lanes: plain loops that any C++ compiler turns into whatever vectors the target's baseline has.
// `fma` here is a rounded product plus a sum: a software fused multiply-add would cost a hundredfold.
#pragma once
#include <cmath>
#include <thread>

#include "numbers.h"

namespace lanes {

struct F { float x[16]; };
struct I { int32_t x[16]; };
struct Raw { uint8_t x[64]; };
struct Pair { float even, odd; };
struct Quad { int32_t x[4]; };
constexpr int BLOCK = 2;
constexpr int FMA = 16, DOT2 = 32, DOT4 = 64;

template <class Result, class Op>
inline Result each(Op op) {
  Result r;
  for (int i = 0; i < 16; i++) r.x[i] = op(i);
  return r;
}

inline F set1(float v) { return each<F>([=](int) { return v; }); }
inline F zero() { return set1(0.0f); }
inline F load(const float* p) { return each<F>([=](int i) { return p[i]; }); }
inline void store(float* p, const F& v) { std::memcpy(p, v.x, sizeof v.x); }
inline F add(const F& a, const F& b) { return each<F>([&](int i) { return a.x[i] + b.x[i]; }); }
inline F sub(const F& a, const F& b) { return each<F>([&](int i) { return a.x[i] - b.x[i]; }); }
inline F mul(const F& a, const F& b) { return each<F>([&](int i) { return a.x[i] * b.x[i]; }); }
inline F div(const F& a, const F& b) { return each<F>([&](int i) { return a.x[i] / b.x[i]; }); }
inline F fma(const F& a, const F& b, const F& c) { return each<F>([&](int i) { return a.x[i] * b.x[i] + c.x[i]; }); }
inline F fnma(const F& a, const F& b, const F& c) { return each<F>([&](int i) { return c.x[i] - a.x[i] * b.x[i]; }); }
inline F max(const F& a, const F& b) { return each<F>([&](int i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; }); }
inline F min(const F& a, const F& b) { return each<F>([&](int i) { return a.x[i] < b.x[i] ? a.x[i] : b.x[i]; }); }
inline F round(const F& a) { return each<F>([&](int i) { return std::nearbyintf(a.x[i]); }); }
inline F scale2(const F& a, const F& n) {
  return each<F>([&](int i) { return a.x[i] * numbers::power_of_two(static_cast<int>(n.x[i])); });
}
inline float sum(const F& v) {
  float s = 0;
  for (float x : v.x) s += x;
  return s;
}
inline float largest(const F& v) {
  float m = v.x[0];
  for (float x : v.x) m = x > m ? x : m;
  return m;
}
inline F first(const F& v, int n, const F& other) { return each<F>([&](int i) { return i < n ? v.x[i] : other.x[i]; }); }

inline I int1(int32_t v) { return each<I>([=](int) { return v; }); }
inline int32_t nearest(float v) { return v > -1e9f && v < 1e9f ? static_cast<int32_t>(std::nearbyintf(v)) : 0; }
inline I to_int(const F& v) { return each<I>([&](int i) { return nearest(v.x[i]); }); }
inline F to_float(const I& v) { return each<F>([&](int i) { return static_cast<float>(v.x[i]); }); }
inline I add(const I& a, const I& b) { return each<I>([&](int i) { return a.x[i] + b.x[i]; }); }
inline I high7(const I& v) { return each<I>([&](int i) { return v.x[i] >> 7; }); }
inline I low7(const I& v) { return each<I>([&](int i) { return v.x[i] & 127; }); }
inline I times128(const I& v) { return each<I>([&](int i) { return v.x[i] * 128; }); }
inline int32_t sum(const I& v) {
  int32_t s = 0;
  for (int32_t x : v.x) s += x;
  return s;
}
inline void store_int8(int8_t* p, const I& v) {
  for (int i = 0; i < 16; i++) p[i] = static_cast<int8_t>(v.x[i] < -128 ? -128 : v.x[i] > 127 ? 127 : v.x[i]);
}

inline F from_f16(const uint16_t* p) { return each<F>([=](int i) { return numbers::from_f16(p[i]); }); }
inline F from_bf16(const uint16_t* p) { return each<F>([=](int i) { return numbers::from_bf16(p[i]); }); }
inline void store_bf16(uint16_t* p, const F& v) {
  for (int i = 0; i < 16; i++) p[i] = numbers::to_bf16(v.x[i]);
}

inline Raw raw(const void* p) {
  Raw r;
  std::memcpy(r.x, p, 64);
  return r;
}
inline Raw low_nibbles(Raw r) {
  for (uint8_t& x : r.x) x &= 15;
  return r;
}
inline Raw high_nibbles(Raw r) {
  for (uint8_t& x : r.x) x >>= 4;
  return r;
}
inline uint16_t half(const Raw& r, int i) {
  uint16_t h;
  std::memcpy(&h, r.x + 2 * i, 2);
  return h;
}
inline Raw without_odd(Raw r) {
  for (int i = 0; i < 16; i++) std::memset(r.x + 4 * i + 2, 0, 2);
  return r;
}

inline Quad quad(const int8_t* p) { return {{p[0], p[1], p[2], p[3]}}; }
inline I dot4(const I& acc, const Raw& w, const Quad& q) {
  return each<I>([&](int i) {
    const uint8_t* b = w.x + 4 * i;
    return acc.x[i] + b[0] * q.x[0] + b[1] * q.x[1] + b[2] * q.x[2] + b[3] * q.x[3];
  });
}
inline Pair pair(const uint16_t* p) { return {numbers::from_bf16(p[0]), numbers::from_bf16(p[1])}; }
inline F dot2(const F& acc, const Raw& w, const Pair& v) {
  return each<F>([&](int i) {
    const float first = acc.x[i] + numbers::from_bf16(half(w, 2 * i)) * v.even;
    return first + numbers::from_bf16(half(w, 2 * i + 1)) * v.odd;
  });
}

inline void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }
inline void prefetch_far(const void* p) { __builtin_prefetch(p, 0, 2); }
inline void relax() { std::this_thread::yield(); }

}  // namespace lanes
