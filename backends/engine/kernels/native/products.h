// The two products of attention, over tiles of the KV pool: queries with keys, weights with values.
//
// Queries and weights are vectors q .. q+Q-1 of a kv::Vectors. Scores lie [query][CHUNK], values [query][head_dim].
#pragma once
#include <algorithm>

#include "kv.h"

namespace attention {

constexpr int CHUNK = 128;
constexpr int CHUNK_BLOCKS = CHUNK / BLOCK_TOKENS;
constexpr int QUERIES = lanes::BLOCK >= 16 ? 12 : 4;  // query vectors that share one read of a tile

template <class T>
struct Products {
  using Number = typename T::Number;
  using Vectors = kv::Vectors<T>;

  // scores[q][slot] = query . key, for 16 slots of one block. Meanwhile fetches the keys and values of a later block, `next`:
  // blocks lie anywhere in the pool, which no hardware prefetcher guesses.
  template <int Q>
  static void scores(const Number* tile, const Vectors& queries, int q0, int head_dim, float* scores, const Number* next) {
    lanes::F sum[Q];
    for (auto& s : sum) s = lanes::zero();
    const Number* query = queries.at(q0);
    for (int d = 0; d < head_dim; d += T::STEP) {
      const auto keys = T::tile(tile + d * BLOCK_TOKENS);
      lanes::prefetch_far(next + d * BLOCK_TOKENS);
      lanes::prefetch_far(next + (head_dim + d) * BLOCK_TOKENS);
      for (int q = 0; q < Q; q++) sum[q] = T::dot(sum[q], keys, T::query(query + q * head_dim + d));
    }
    for (int q = 0; q < Q; q++) lanes::store(scores + q * CHUNK, sum[q]);
  }

  // Weights of one query: `shares` of `tokens` tokens, zero from `seen` on.
  static void weights(Vectors& weights, int q, const float* shares, int, int tokens, const Number* const*, int) {
    weights.set(q, shares, rounded_up(tokens, 16));
  }

  // out[q][d .. d+16*C] = sum over `tokens` tokens of weight * value.
  template <int Q, int C>
  static void values(const Number* const* tiles, const Vectors& weights, int q0, int tokens, int d, int head_dim,
                     float* out) {
    lanes::F sum[Q][C];
    for (auto& row : sum) for (auto& s : row) s = lanes::zero();
    const Number* weight = weights.at(q0);
    for (int t = 0; t < tokens; t += T::STEP) {
      const Number* v = tiles[t / BLOCK_TOKENS] + (BLOCK_TOKENS + t % BLOCK_TOKENS) * head_dim + d * T::STEP;
      const int odd = t + T::STEP > tokens;
      for (int c = 0; c < C; c++) {
        const auto tile = T::last(v + 16 * T::STEP * c, odd);
        for (int q = 0; q < Q; q++) sum[q][c] = T::dot(sum[q][c], tile, T::query(weight + q * CHUNK + t));
      }
    }
    for (int q = 0; q < Q; q++) for (int c = 0; c < C; c++) lanes::store(out + q * head_dim + d + 16 * c, sum[q][c]);
  }
};

// int8: sums are exact integers, so that their order is free; scales come after. A key's scale multiplies its score, a
// value's scale its weight. Loops unrolled, since gcc otherwise copies every sum in each turn.
template <>
struct Products<kv::Int8> {
  using Number = kv::Int8::Number;
  using Vectors = kv::Vectors<kv::Int8>;

  template <int Q>
  static void scores(const Number* tile, const Vectors& queries, int q0, int head_dim, float* scores, const Number* next) {
    lanes::I high[Q], low[Q];
    for (int q = 0; q < Q; q++) high[q] = lanes::int1(0), low[q] = lanes::int1(queries.offset[q0 + q]);
    const int8_t *highs = &queries.high[q0 * head_dim], *lows = &queries.low[q0 * head_dim];
    lanes::prefetch_far(kv::Int8::key_scales(next, head_dim)), lanes::prefetch_far(kv::Int8::value_scales(next, head_dim));
    for (int from = 0; from < head_dim; from += 16) {
#pragma GCC unroll 4
      for (int d = from; d < from + 16; d += 4) {
        const lanes::Raw keys = lanes::raw(tile + d * BLOCK_TOKENS);
        lanes::prefetch_far(next + d * BLOCK_TOKENS);
        lanes::prefetch_far(next + (head_dim + d) * BLOCK_TOKENS);
        for (int q = 0; q < Q; q++) {
          high[q] = lanes::dot4(high[q], keys, lanes::quad(highs + q * head_dim + d));
          low[q] = lanes::dot4(low[q], keys, lanes::quad(lows + q * head_dim + d));
        }
      }
    }
    const lanes::F scales = lanes::load(kv::Int8::key_scales(tile, head_dim));
    for (int q = 0; q < Q; q++) {
      lanes::store(scores + q * CHUNK, lanes::mul(scaled(high[q], low[q], queries.scale[q0 + q]), scales));
    }
  }

  // A scale after `seen` is an earlier owner's, and may be no number.
  static void weights(Vectors& weights, int q, float* shares, int seen, int tokens, const Number* const* tiles,
                      int head_dim) {
    lanes::F top = lanes::zero();
    for (int t = 0; t < seen; t += BLOCK_TOKENS) {
      const lanes::F scales = lanes::load(kv::Int8::value_scales(tiles[t / BLOCK_TOKENS], head_dim));
      const lanes::F all = lanes::mul(lanes::load(shares + t), scales);
      const lanes::F ours = lanes::first(all, std::min(seen - t, BLOCK_TOKENS), lanes::zero());
      lanes::store(shares + t, ours);
      top = lanes::max(top, ours);
    }
    weights.set(q, shares, rounded_up(tokens, BLOCK_TOKENS), lanes::largest(top));
  }

  // To the end of the last block: weights there are zero, and any byte times zero is zero.
  template <int Q, int C>
  static void values(const Number* const* tiles, const Vectors& weights, int q0, int tokens, int d, int head_dim,
                     float* out) {
    lanes::I high[Q][C], low[Q][C];
    for (int q = 0; q < Q; q++) for (int c = 0; c < C; c++) {
      high[q][c] = lanes::int1(0), low[q][c] = lanes::int1(weights.offset[q0 + q]);
    }
    const int8_t *highs = &weights.high[q0 * CHUNK], *lows = &weights.low[q0 * CHUNK];
    for (int from = 0; from < tokens; from += BLOCK_TOKENS) {
      const Number* v = tiles[from / BLOCK_TOKENS] + BLOCK_TOKENS * head_dim + d * 4;
#pragma GCC unroll 4
      for (int t = from; t < from + BLOCK_TOKENS; t += 4, v += 4 * head_dim) {
        for (int c = 0; c < C; c++) {
          const lanes::Raw tile = lanes::raw(v + 64 * c);
          for (int q = 0; q < Q; q++) {
            high[q][c] = lanes::dot4(high[q][c], tile, lanes::quad(highs + q * CHUNK + t));
            low[q][c] = lanes::dot4(low[q][c], tile, lanes::quad(lows + q * CHUNK + t));
          }
        }
      }
    }
    for (int q = 0; q < Q; q++) for (int c = 0; c < C; c++) {
      lanes::store(out + q * head_dim + d + 16 * c, scaled(high[q][c], low[q][c], weights.scale[q0 + q]));
    }
  }

 private:
  // In int32 throughout: 128 * 255 * 127 for each number of a vector of 512 or fewer.
  static lanes::F scaled(lanes::I high, lanes::I low, float scale) {
    return lanes::mul(lanes::to_float(lanes::add(lanes::times128(high), low)), lanes::set1(scale));
  }
};

}  // namespace attention
