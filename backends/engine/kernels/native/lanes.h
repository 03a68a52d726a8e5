// Sixteen float lanes, whatever the machine: the rest of the kernels is written once in these words.
//
// Every variant offers the same names in namespace `lanes`:
//   F (16 floats), I (16 int32), Raw (64 bytes), Pair (a broadcast bf16 pair), Quad (four broadcast int8)
//   BLOCK    float accumulators of 16 lanes that one register block may hold
//   FMA, DOT2, DOT4    about how many instructions `fma`, `dot2` and `dot4` are
// `dot2` adds two bf16 products to each lane, `dot4` four uint8*int8 products, exactly.
// x = 128 * high7(x) + low7(x), with low7 in 0..127.
// Multiplications and additions are fused only where a function says so; the compiler may fuse nothing
// (-ffp-contract=off), so that every template instance rounds alike.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include "lanes_avx512.h"
#elif defined(__AVX2__)
#include "lanes_avx2.h"
#else
#include "lanes_scalar.h"
#endif

namespace lanes {

// exp(x) by range reduction to [-ln2/2, ln2/2] and a polynomial of degree 6; exp(0) is exactly 1, x below -87 gives
// a number under 2e-38. Relative error below 2e-7.
inline F exp(F x) {
  x = min(max(x, set1(-87.0f)), set1(88.0f));
  const F n = round(mul(x, set1(1.44269504088896f)));
  F r = fnma(n, set1(0.693145751953125f), x);
  r = fnma(n, set1(1.42860682030941723e-6f), r);
  F p = set1(1.0f / 720);
  p = fma(p, r, set1(1.0f / 120));
  p = fma(p, r, set1(1.0f / 24));
  p = fma(p, r, set1(1.0f / 6));
  p = fma(p, r, set1(0.5f));
  p = fma(p, mul(r, r), r);
  return scale2(add(p, set1(1.0f)), n);
}

inline F negate(F x) { return sub(zero(), x); }
inline F abs(F x) { return max(x, negate(x)); }

}  // namespace lanes
