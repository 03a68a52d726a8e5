// Attention of a few query heads over one KV head's blocks, in chunks of 128 tokens counted from position 0.
//
// Per chunk: scores, their largest, exponentials, weighted values; chunks are joined in order of position
// (the online softmax of Milakov & Gimelshein 2018). Chunk borders depend on positions alone, so a row's result is the
// same whoever computes the chunks and whatever rows share the tile. Tokens after the row's own add exact zeros.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "products.h"

namespace attention {

// Calls f(integral constant Q) so that blocks of Q cover `count` queries.
template <class F>
void in_blocks(int count, F f) {
  int done = 0;
  const auto step = [&]<int Q>() {
    while (count - done >= Q) f.template operator()<Q>(done), done += Q;
  };
  if constexpr (QUERIES >= 12) step.template operator()<12>(), step.template operator()<8>();
  if constexpr (QUERIES >= 12) step.template operator()<6>();
  step.template operator()<4>(), step.template operator()<3>(), step.template operator()<2>();
  step.template operator()<1>();
}

// Scratch of one thread. `most` query vectors, each of head_dim.
template <class T>
struct Scratch {
  kv::Vectors<T> queries, weights;
  std::vector<float> scores, values, largest, total;
  Scratch(int most, int head_dim)
      : queries(most, head_dim), weights(most, CHUNK), scores(most * CHUNK), values(most * head_dim), largest(most),
        total(most) {}
};

// Scores become softmax weights: one query over a chunk, of which it sees the first `seen` tokens out of `tokens`.
inline void weigh(float* scores, int seen, int tokens, float scale, float& largest, float& total) {
  const float none = -std::numeric_limits<float>::infinity();
  const lanes::F minus = lanes::set1(none), factor = lanes::set1(scale);
  lanes::F top = minus, sum = lanes::zero();
  for (int t = 0; t < seen; t += 16) {
    const lanes::F s = lanes::first(lanes::mul(lanes::load(scores + t), factor), std::min(seen - t, 16), minus);
    lanes::store(scores + t, s);
    top = lanes::max(top, s);
  }
  largest = lanes::largest(top);
  const lanes::F shift = lanes::set1(largest);
  for (int t = 0; t < tokens; t += 16) {
    lanes::F e = lanes::zero();
    if (t < seen) {
      e = lanes::first(lanes::exp(lanes::sub(lanes::load(scores + t), shift)), std::min(seen - t, 16), lanes::zero());
      sum = lanes::add(sum, e);
    }
    lanes::store(scores + t, e);
  }
  total = lanes::sum(sum);
}

// One chunk for `count` queries: scratch.values, .largest, .total; query q sees the tokens up to position ends[q].
// `table` is the sequence's block table, `last` the last position that any of the queries sees.
template <class T>
void chunk(const kv::Tiles<T>& pool, Scratch<T>& s, int layer, int head, const int32_t* table, int first, int last,
           const int* ends, int count, float scale) {
  const int head_dim = pool.head_dim, tokens = std::min(last + 1 - first, CHUNK);
  const int blocks = (tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
  const typename T::Number* tiles[CHUNK_BLOCKS];
  for (int b = 0; b < blocks; b++) tiles[b] = pool.keys(layer, table[first / BLOCK_TOKENS + b], head);
  in_blocks(count, [&]<int Q>(int q) {
    for (int b = 0; b < blocks; b++) {
      const int later = std::min(first / BLOCK_TOKENS + b + 2, last / BLOCK_TOKENS);
      Products<T>::template scores<Q>(tiles[b], s.queries, q, head_dim, &s.scores[q * CHUNK + b * BLOCK_TOKENS],
                                      pool.keys(layer, table[later], head));
    }
  });
  for (int q = 0; q < count; q++) {
    const int seen = std::clamp(ends[q] + 1 - first, 0, tokens);
    weigh(&s.scores[q * CHUNK], seen, tokens, scale, s.largest[q], s.total[q]);
    Products<T>::weights(s.weights, q, &s.scores[q * CHUNK], seen, tokens, tiles, head_dim);
  }
  in_blocks(count, [&]<int Q>(int q) {
    constexpr int C = lanes::BLOCK < 16 ? 1 : Q * 4 <= QUERIES ? 4 : Q * 2 <= QUERIES ? 2 : 1;
    float* out = &s.values[q * head_dim];
    int d = 0;
    for (; d + 16 * C <= head_dim; d += 16 * C) {
      Products<T>::template values<Q, C>(tiles, s.weights, q, tokens, d, head_dim, out);
    }
    for (; d < head_dim; d += 16) Products<T>::template values<Q, 1>(tiles, s.weights, q, tokens, d, head_dim, out);
  });
}

inline float exp1(float x) {
  float e[16];
  lanes::store(e, lanes::exp(lanes::set1(x)));
  return e[0];
}

// What a query has seen so far: `out` holds head_dim weighted sums, not yet divided by `total`.
struct Seen {
  float largest, total;
  float* out;
};

// Adds the next chunk. The first one is taken as it is.
inline void join(Seen& seen, bool is_first, float largest, float total, const float* values, int head_dim) {
  if (is_first) {
    seen.largest = largest, seen.total = total;
    std::memcpy(seen.out, values, sizeof(float) * head_dim);
    return;
  }
  const float top = std::max(seen.largest, largest);
  const float old_share = exp1(seen.largest - top), new_share = exp1(largest - top);
  const lanes::F a = lanes::set1(old_share), b = lanes::set1(new_share);
  for (int d = 0; d < head_dim; d += 16) {
    lanes::store(seen.out + d, lanes::fma(lanes::load(values + d), b, lanes::mul(lanes::load(seen.out + d), a)));
  }
  seen.total = seen.total * old_share + total * new_share;
  seen.largest = top;
}

inline void finish(const Seen& seen, int head_dim) {
  const lanes::F inverse = lanes::set1(1.0f / seen.total);
  for (int d = 0; d < head_dim; d += 16) lanes::store(seen.out + d, lanes::mul(lanes::load(seen.out + d), inverse));
}

}  // namespace attention
