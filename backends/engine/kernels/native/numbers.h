// bfloat16 and IEEE half as bits, one number at a time: for packing and for the portable lanes.
#pragma once
#include <cstdint>
#include <cstring>

namespace numbers {

inline uint32_t bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
inline float number(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

inline float power_of_two(int n) { return number(static_cast<uint32_t>(n + 127) << 23); }

inline float from_bf16(uint16_t h) { return number(static_cast<uint32_t>(h) << 16); }
inline uint16_t to_bf16(float x) {  // round to nearest, ties to even
  const uint32_t u = bits(x);
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

inline float from_f16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3ff;
  if (exponent == 31) return number(sign | 0x7f800000u | (fraction << 13));
  if (exponent) return number(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float small = static_cast<float>(fraction) * 0x1p-24f;  // zero and subnormals
  return number(sign | bits(small));
}
inline uint16_t to_f16(float x) {  // round to nearest, ties to even; beyond the range: infinity
  const uint16_t sign = static_cast<uint16_t>((bits(x) >> 16) & 0x8000);
  const float a = number(bits(x) & 0x7fffffffu);
  if (!(a < 65520.0f)) return sign | 0x7c00;
  if (a < 0x1p-14f) {  // subnormal: adding 2^-1 leaves the wanted bits, rounded, at the bottom of the fraction
    return static_cast<uint16_t>(sign | (bits(a + 0.5f) - bits(0.5f)));
  }
  const uint32_t u = bits(a);
  return static_cast<uint16_t>(sign | ((u + 0xfff + ((u >> 13) & 1) - (112u << 23)) >> 13));
}

}  // namespace numbers
