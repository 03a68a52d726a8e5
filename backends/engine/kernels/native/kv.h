// The KV pool: per (layer, block, KV head) one tile with the keys and the values of 16 tokens.
//
// Keys lie transposed, so that one pass over head_dim gives 16 scores without horizontal sums. With bf16, neighbours in
// the direction of the sum lie in pairs, as the dot product of two wants them:
//   float32  keys [d][16]          values [16][d]
//   bf16     keys [d/2][16][2]     values [8][d][2]
#pragma once
#include "abi.h"
#include "arena.h"
#include "lanes.h"

namespace kv {

struct Float32 {
  using Number = float;
  using Query = lanes::F;
  static constexpr int STEP = 1;  // numbers that one dot adds up
  static void convert(Number* to, const float* from, int n) { std::memcpy(to, from, sizeof(float) * n); }
  static Query query(const Number* p) { return lanes::set1(*p); }
  static lanes::F tile(const Number* p) { return lanes::load(p); }
  static lanes::F last(const Number* p, int) { return lanes::load(p); }
  static lanes::F dot(lanes::F sum, lanes::F tile, Query q) { return lanes::fma(tile, q, sum); }
};

struct Bfloat16 {
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

template <class T>
struct Tiles {
  using Number = typename T::Number;
  Number* base = nullptr;
  int blocks = 0, kv_heads = 0, head_dim = 0;

  static size_t bytes(int layers, int blocks, int kv_heads, int head_dim) {
    return size_t{2} * layers * blocks * kv_heads * head_dim * BLOCK_TOKENS * sizeof(Number);
  }
  Number* keys(int layer, int block, int head) const {
    const size_t tile = (static_cast<size_t>(layer) * blocks + block) * kv_heads + head;
    return base + tile * 2 * BLOCK_TOKENS * head_dim;
  }
  void write(int layer, int block, int head, int slot, const float* key, const float* value) const {
    Number* k = keys(layer, block, head);
    Number* v = k + BLOCK_TOKENS * head_dim + slot / T::STEP * T::STEP * head_dim + slot % T::STEP;
    for (int from = 0; from < head_dim; from += 16) {
      Number keys[16], values[16];
      T::convert(keys, key + from, 16), T::convert(values, value + from, 16);
      for (int i = 0, d = from; i < 16; i++, d++) {
        k[(d / T::STEP * BLOCK_TOKENS + slot) * T::STEP + d % T::STEP] = keys[i];
        v[d * T::STEP] = values[i];
      }
    }
  }
};

}  // namespace kv
