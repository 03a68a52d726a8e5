// The KV pool: per (layer, block, KV head) one tile with the keys and the values of 16 tokens.
//
// Keys lie transposed, so that one pass over head_dim gives 16 scores without horizontal sums. With bf16, neighbours in
// the direction of the sum lie in pairs, as the dot product of two wants them:
//   float32  keys [d][16]          values [16][d]
//   bf16     keys [d/2][16][2]     values [8][d][2]
//   int8     keys [d/4][16][4]     values [4][d][4], plus 128, then 16 scales of the keys and 16 of the values
#pragma once
#include <vector>

#include "abi.h"
#include "arena.h"
#include "lanes.h"

namespace kv {

// Sixteen numbers of a key and of a value, from place `from` of the vectors on, into a tile: `step` neighbours together.
template <class Number>
void lay(Number* tile, int step, int head_dim, int slot, int from, const Number* keys, const Number* values) {
  Number* v = tile + BLOCK_TOKENS * head_dim + slot / step * step * head_dim + slot % step;
  for (int i = 0, d = from; i < 16; i++, d++) {
    tile[(d / step * BLOCK_TOKENS + slot) * step + d % step] = keys[i];
    v[d * step] = values[i];
  }
}

template <class T>
struct Rounded {  // every number alone
  static constexpr int tile_size(int head_dim) { return 2 * BLOCK_TOKENS * head_dim; }
  template <class Number>
  static void write(Number* tile, int head_dim, int slot, const float* key, const float* value) {
    for (int from = 0; from < head_dim; from += 16) {
      Number keys[16], values[16];
      T::convert(keys, key + from, 16), T::convert(values, value + from, 16);
      lay(tile, T::STEP, head_dim, slot, from, keys, values);
    }
  }
};

struct Float32 : Rounded<Float32> {
  using Number = float;
  using Query = lanes::F;
  static constexpr int STEP = 1;  // numbers that one dot adds up
  static void convert(Number* to, const float* from, int n) { std::memcpy(to, from, sizeof(float) * n); }
  static Query query(const Number* p) { return lanes::set1(*p); }
  static lanes::F tile(const Number* p) { return lanes::load(p); }
  static lanes::F last(const Number* p, int) { return lanes::load(p); }
  static lanes::F dot(lanes::F sum, lanes::F tile, Query q) { return lanes::fma(tile, q, sum); }
};

struct Bfloat16 : Rounded<Bfloat16> {
  using Number = uint16_t;
  using Query = lanes::Pair;
  static constexpr int STEP = 2;
  static void convert(Number* to, const float* from, int n) {
    for (int i = 0; i < n; i += 16) lanes::store_bf16(to + i, lanes::load(from + i));
  }
  static Query query(const Number* p) { return lanes::pair(p); }
  static lanes::Raw tile(const Number* p) { return lanes::raw(p); }
  // The pair's second token is not ours when `odd`: whatever an earlier owner left there must not count, not even as
  // 0 * NaN.
  static lanes::Raw last(const Number* p, int odd) { return odd ? lanes::without_odd(lanes::raw(p)) : lanes::raw(p); }
  static lanes::F dot(lanes::F sum, lanes::Raw tile, Query q) { return lanes::dot2(sum, tile, q); }
};

// One scale for each (token, KV head), of keys and of values: the largest magnitude is 127.
struct Int8 {
  using Number = uint8_t;
  static constexpr int STEP = 4;
  static constexpr int tile_size(int head_dim) { return 2 * BLOCK_TOKENS * (head_dim + static_cast<int>(sizeof(float))); }
  static float* key_scales(Number* tile, int head_dim) {
    return reinterpret_cast<float*>(tile + 2 * BLOCK_TOKENS * head_dim);
  }
  static const float* key_scales(const Number* tile, int head_dim) {
    return reinterpret_cast<const float*>(tile + 2 * BLOCK_TOKENS * head_dim);
  }
  static const float* value_scales(const Number* tile, int head_dim) {
    return key_scales(tile, head_dim) + BLOCK_TOKENS;
  }
  static float largest(const float* x, int n) {
    lanes::F top = lanes::zero();
    for (int i = 0; i < n; i += 16) top = lanes::max(top, lanes::abs(lanes::load(x + i)));
    return lanes::largest(top);
  }
  static float inverse(float largest, float levels) { return largest > 1e-30f ? levels / largest : 0.0f; }
  static void convert(Number* to, const float* from, float inverse) {
    int8_t rounded[16];
    lanes::store_int8(rounded, lanes::to_int(lanes::mul(lanes::load(from), lanes::set1(inverse))));
    for (int i = 0; i < 16; i++) to[i] = static_cast<Number>(rounded[i] + 128);
  }
  static void write(Number* tile, int head_dim, int slot, const float* key, const float* value) {
    const float tops[2] = {largest(key, head_dim), largest(value, head_dim)};
    for (int from = 0; from < head_dim; from += 16) {
      Number keys[16], values[16];
      convert(keys, key + from, inverse(tops[0], 127.0f)), convert(values, value + from, inverse(tops[1], 127.0f));
      lay(tile, STEP, head_dim, slot, from, keys, values);
    }
    float* scales = key_scales(tile, head_dim);
    for (int side = 0; side < 2; side++) scales[side * BLOCK_TOKENS + slot] = tops[side] / 127.0f;
  }
};

template <class T>
struct Tiles {
  using Number = typename T::Number;
  Number* base = nullptr;
  int blocks = 0, kv_heads = 0, head_dim = 0;

  static size_t bytes(int layers, int blocks, int kv_heads, int head_dim) {
    return sizeof(Number) * layers * blocks * kv_heads * T::tile_size(head_dim);
  }
  // The tile: keys first, then values.
  Number* keys(int layer, int block, int head) const {
    const size_t tile = (static_cast<size_t>(layer) * blocks + block) * kv_heads + head;
    return base + tile * T::tile_size(head_dim);
  }
  void write(int layer, int block, int head, int slot, const float* key, const float* value) const {
    T::write(keys(layer, block, head), head_dim, slot, key, value);
  }
};

// `most` vectors of `size` numbers, as dot products with keys or values want them.
template <class T>
struct Vectors {
  Vectors(int most, int size) : size(size), numbers(static_cast<size_t>(most) * size) {}
  void set(int i, const float* from, int n) { T::convert(numbers.data() + static_cast<size_t>(i) * size, from, n); }
  const typename T::Number* at(int i) const { return numbers.data() + static_cast<size_t>(i) * size; }

  int size;
  std::vector<typename T::Number> numbers;
};

// Fifteen bits in two planes of int8, scale * (128 * high + low), so that only the keys and values are coarse.
// `offset` is -128 times the sum, for the 128 that bytes in the pool carry.
template <>
struct Vectors<Int8> {
  static constexpr float LEVELS = 127 * 128;
  Vectors(int most, int size)
      : size(size), high(static_cast<size_t>(most) * size), low(high.size()), scale(most), offset(most) {}

  void set(int i, const float* from, int n) { set(i, from, n, Int8::largest(from, n)); }
  void set(int i, const float* from, int n, float largest) {
    const lanes::F inverse = lanes::set1(Int8::inverse(largest, LEVELS));
    lanes::I sum = lanes::int1(0);
    for (int k = 0, at = i * size; k < n; k += 16, at += 16) {
      const lanes::I x = lanes::to_int(lanes::mul(lanes::load(from + k), inverse));
      lanes::store_int8(&high[at], lanes::high7(x));
      lanes::store_int8(&low[at], lanes::low7(x));
      sum = lanes::add(sum, x);
    }
    scale[i] = largest / LEVELS;
    offset[i] = -128 * lanes::sum(sum);
  }

  int size;
  std::vector<int8_t> high, low;
  std::vector<float> scale;
  std::vector<int32_t> offset;
};

}  // namespace kv
