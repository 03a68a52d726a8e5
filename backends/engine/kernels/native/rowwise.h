// What happens to one row alone: norm, rotation, gate, and the rounding that the next linear layer wants.
#pragma once
#include <cmath>

#include "lanes.h"
#include "linear.h"

namespace rowwise {

// y = x / rms(x) * weight over n numbers, n a multiple of 16 (Zhang & Sennrich 2019).
inline void rms_norm(const float* x, const float* weight, float* y, int n, float eps) {
  lanes::F squares = lanes::zero();
  for (int k = 0; k < n; k += 16) {
    const lanes::F v = lanes::load(x + k);
    squares = lanes::fma(v, v, squares);
  }
  const lanes::F scale = lanes::set1(1.0f / std::sqrt(lanes::sum(squares) / static_cast<float>(n) + eps));
  for (int k = 0; k < n; k += 16) {
    lanes::store(y + k, lanes::mul(lanes::mul(lanes::load(x + k), scale), lanes::load(weight + k)));
  }
}

// Rotates the pairs (v[i], v[i + n/2]) by the angles of one position; n a multiple of 16 (RoFormer, half-split order).
inline void rotate(float* v, const float* cosine, const float* sine, int n) {
  const int half = n / 2;
  if (half % 16) {
    for (int i = 0; i < half; i++) {
      const float a = v[i], b = v[half + i];
      v[i] = a * cosine[i] - b * sine[i];
      v[half + i] = b * cosine[i] + a * sine[i];
    }
    return;
  }
  for (int i = 0; i < half; i += 16) {
    const lanes::F a = lanes::load(v + i), b = lanes::load(v + half + i);
    const lanes::F c = lanes::load(cosine + i), s = lanes::load(sine + i);
    lanes::store(v + i, lanes::fnma(b, s, lanes::mul(a, c)));
    lanes::store(v + half + i, lanes::fma(a, s, lanes::mul(b, c)));
  }
}

inline lanes::F silu(lanes::F x) { return lanes::div(x, lanes::add(lanes::set1(1.0f), lanes::exp(lanes::negate(x)))); }

inline void add(float* x, const float* y, int n) {
  for (int k = 0; k < n; k += 16) lanes::store(x + k, lanes::add(lanes::load(x + k), lanes::load(y + k)));
}

// One group of 32 activations: int8 with one scale, largest magnitude 127.
inline void quantise_group(const Activations& x, size_t at, size_t group) {
  const lanes::F a = lanes::load(x.full + at), b = lanes::load(x.full + at + 16);
  const float largest = lanes::largest(lanes::max(lanes::abs(a), lanes::abs(b)));
  const bool is_zero = !(largest > 1e-30f);  // too small to divide by: zero
  const lanes::F inverse = lanes::set1(is_zero ? 0.0f : 127.0f / largest);
  const lanes::I qa = lanes::to_int(lanes::mul(a, inverse)), qb = lanes::to_int(lanes::mul(b, inverse));
  lanes::store_int8(x.quantised + at, qa);
  lanes::store_int8(x.quantised + at + 16, qb);
  const int32_t sum = lanes::sum(lanes::add(qa, qb));
  const float scale = is_zero ? 0.0f : largest / 127.0f;
  x.scale[group] = scale;
  x.offset[group] = -128 * sum;
  x.weighted[group] = scale * static_cast<float>(sum);
}

// Prepares x.full of one row for a linear layer of this precision.
inline void prepare(const Activations& x, int row, int precision) {
  if (precision == FLOAT32) return;
  const size_t at = x.at(row);
  if (precision == BFLOAT16) {
    for (int k = 0; k < x.inputs; k += 16) lanes::store_bf16(x.half + at + k, lanes::load(x.full + at + k));
    return;
  }
  for (int g = 0; g < x.inputs / GROUP; g++) quantise_group(x, at + g * GROUP, x.group_at(row) + g);
}

}  // namespace rowwise
