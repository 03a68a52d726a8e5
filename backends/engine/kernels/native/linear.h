// y = W x for a few rows at once, per precision. Each output is summed over the inputs in one fixed order, whatever
// the number of rows: the work is split over outputs, never over inputs.
#pragma once
#include <utility>

#include "lanes.h"
#include "panels.h"

// Rows as a linear layer wants them. `groups` = inputs / GROUP; int8 values with scale[group]; for the offset of 128 in
// int8 weights -128 * sum(q) is carried along, for int4 minima scale * sum(q).
struct Activations {
  float* full = nullptr;
  uint16_t* half = nullptr;
  int8_t* quantised = nullptr;
  float* scale = nullptr;
  int32_t* offset = nullptr;
  float* weighted = nullptr;
  int inputs = 0;

  size_t at(int row) const { return static_cast<size_t>(row) * inputs; }
  size_t group_at(int row) const { return static_cast<size_t>(row) * (inputs / GROUP); }
};

namespace linear {

constexpr int MOST_ROWS = 8;
// Bytes between a prefetch into L2 and the load. Kernels that only stream fetch near; where a line of weights takes five
// and more instructions of arithmetic the hardware's own prefetcher falls asleep; in between it does better alone.
// (Measured: README.)
constexpr int NEAR = 1536, FAR = 9216;

// out: [rows][PANEL]
using Kernel = void (*)(const char* panel, const Activations& x, int row, float* out);

template <int Work>
inline void fetch(const char* w) {
  constexpr int ahead = Work <= 2 ? NEAR : Work >= 5 ? FAR : 0;
  if constexpr (ahead != 0) lanes::prefetch_far(w + ahead), lanes::prefetch_far(w + ahead + 64);
}

template <int R, int N>
struct Float32 {
  static void run(const char* panel, int side, const Activations& x, int row, float* out) {
    lanes::F sum[R][N];
    for (auto& r : sum) for (auto& s : r) s = lanes::zero();
    const float* in = x.full + x.at(row);
    const char* w = panel + side * 64;
    for (int k = 0; k < x.inputs; k++, w += PANEL * 4) {
      if (side == 0) fetch<R * lanes::FMA>(w);
      lanes::F v[N];
      for (int n = 0; n < N; n++) v[n] = lanes::load(reinterpret_cast<const float*>(w) + 16 * n);
      for (int r = 0; r < R; r++) {
        const lanes::F b = lanes::set1(in[static_cast<size_t>(r) * x.inputs + k]);
        for (int n = 0; n < N; n++) sum[r][n] = lanes::fma(v[n], b, sum[r][n]);
      }
    }
    for (int r = 0; r < R; r++) for (int n = 0; n < N; n++) lanes::store(out + r * PANEL + (side + n) * 16, sum[r][n]);
  }
};

template <int R, int N>
struct Bfloat16 {
  static void run(const char* panel, int side, const Activations& x, int row, float* out) {
    lanes::F sum[R][N];
    for (auto& r : sum) for (auto& s : r) s = lanes::zero();
    const uint16_t* in = x.half + x.at(row);
    const char* w = panel + side * 64;
    for (int k = 0; k < x.inputs; k += 2, w += PANEL * 4) {
      if (side == 0) fetch<R * lanes::DOT2>(w);
      lanes::Raw v[N];
      for (int n = 0; n < N; n++) v[n] = lanes::raw(w + 64 * n);
      for (int r = 0; r < R; r++) {
        const lanes::Pair b = lanes::pair(in + static_cast<size_t>(r) * x.inputs + k);
        for (int n = 0; n < N; n++) sum[r][n] = lanes::dot2(sum[r][n], v[n], b);
      }
    }
    for (int r = 0; r < R; r++) for (int n = 0; n < N; n++) lanes::store(out + r * PANEL + (side + n) * 16, sum[r][n]);
  }
};

template <int R, int N>
struct Int8 {
  static void run(const char* panel, int side, const Activations& x, int row, float* out) {
    const int groups = x.inputs / GROUP;
    const int8_t* in = x.quantised + x.at(row);
    const float* scale = x.scale + x.group_at(row);
    const int32_t* offset = x.offset + x.group_at(row);
    lanes::F sum[R][N];
    for (auto& r : sum) for (auto& s : r) s = lanes::zero();
    const char* w = panel + side * 64;
    for (int g = 0; g < groups; g++) {
      lanes::I dot[R][N];
      for (int r = 0; r < R; r++) for (int n = 0; n < N; n++) dot[r][n] = lanes::int1(offset[r * groups + g]);
#pragma GCC unroll 8
      for (int k = 0; k < GROUP; k += 4, w += PANEL * 4) {
        if (side == 0) fetch<R * lanes::DOT4>(w);
        lanes::Raw v[N];
        for (int n = 0; n < N; n++) v[n] = lanes::raw(w + 64 * n);
        for (int r = 0; r < R; r++) {
          const lanes::Quad b = lanes::quad(in + static_cast<size_t>(r) * x.inputs + g * GROUP + k);
          for (int n = 0; n < N; n++) dot[r][n] = lanes::dot4(dot[r][n], v[n], b);
        }
      }
      if (side == 0) fetch<R * lanes::DOT4>(w);
      const uint16_t* tail = reinterpret_cast<const uint16_t*>(w - side * 64) + side * 16;
      w += 2 * PANEL;
      for (int n = 0; n < N; n++) {
        const lanes::F s = lanes::from_f16(tail + 16 * n);
        for (int r = 0; r < R; r++) {
          const lanes::F step = lanes::mul(s, lanes::set1(scale[r * groups + g]));
          sum[r][n] = lanes::fma(lanes::to_float(dot[r][n]), step, sum[r][n]);
        }
      }
    }
    for (int r = 0; r < R; r++) for (int n = 0; n < N; n++) lanes::store(out + r * PANEL + (side + n) * 16, sum[r][n]);
  }
};

template <int R, int N>
struct Int4 {
  static void run(const char* panel, int side, const Activations& x, int row, float* out) {
    const int groups = x.inputs / GROUP;
    const int8_t* in = x.quantised + x.at(row);
    const float *scale = x.scale + x.group_at(row), *weighted = x.weighted + x.group_at(row);
    lanes::F sum[R][N];
    for (auto& r : sum) for (auto& s : r) s = lanes::zero();
    const char* w = panel;
    for (int g = 0; g < groups; g++) {
      lanes::I dot[R][N];
      for (auto& r : dot) for (auto& d : r) d = lanes::int1(0);
#pragma GCC unroll 4
      for (int k = 0; k < GROUP; k += 8, w += PANEL * 4) {
        if (side == 0) fetch<R * lanes::DOT4>(w);
        lanes::Raw low[N], high[N];
        for (int n = 0; n < N; n++) {
          const lanes::Raw both = lanes::raw(w + 64 * (side + n));
          low[n] = lanes::low_nibbles(both), high[n] = lanes::high_nibbles(both);
        }
        for (int r = 0; r < R; r++) {
          const int8_t* q = in + static_cast<size_t>(r) * x.inputs + g * GROUP + k;
          const lanes::Quad a = lanes::quad(q), b = lanes::quad(q + 4);
          for (int n = 0; n < N; n++) dot[r][n] = lanes::dot4(lanes::dot4(dot[r][n], low[n], a), high[n], b);
        }
      }
      if (side == 0) fetch<R * lanes::DOT4>(w);
      const uint16_t* tail = reinterpret_cast<const uint16_t*>(w) + side * 16;
      w += 2 * PANEL * 2;
      for (int n = 0; n < N; n++) {
        const lanes::F s = lanes::from_f16(tail + 16 * n), m = lanes::from_f16(tail + PANEL + 16 * n);
        for (int r = 0; r < R; r++) {
          const lanes::F step = lanes::mul(s, lanes::set1(scale[r * groups + g]));
          sum[r][n] = lanes::fma(lanes::to_float(dot[r][n]), step, sum[r][n]);
          sum[r][n] = lanes::fma(m, lanes::set1(weighted[r * groups + g]), sum[r][n]);
        }
      }
    }
    for (int r = 0; r < R; r++) for (int n = 0; n < N; n++) lanes::store(out + r * PANEL + (side + n) * 16, sum[r][n]);
  }
};

// A whole panel: at once where the registers hold R x 32 sums, else its two sides one after the other.
template <template <int, int> class Dot, int R>
void panel_rows(const char* panel, const Activations& x, int row, float* out) {
  if constexpr (R * 2 <= lanes::BLOCK) {
    Dot<R, 2>::run(panel, 0, x, row, out);
  } else {
    Dot<R, 1>::run(panel, 0, x, row, out);
    Dot<R, 1>::run(panel, 1, x, row, out);
  }
}

// Register blocks: as large as they get, but never one row left over after eight.
constexpr int MAX_BLOCK = lanes::BLOCK >= 16 ? MOST_ROWS : lanes::BLOCK;

template <template <int, int> class Dot, int... I>
void rows(int count, const char* panel, const Activations& x, int row, float* out, std::integer_sequence<int, I...>) {
  static constexpr Kernel kernels[] = {panel_rows<Dot, I + 1>...};
  kernels[count - 1](panel, x, row, out);
}

// out[rows][PANEL] = the panel's outputs for rows row .. row+count-1, count <= MAX_BLOCK.
inline void multiply(int precision, int count, const char* panel, const Activations& x, int row, float* out) {
  using Counts = std::make_integer_sequence<int, MAX_BLOCK>;
  switch (precision) {
    case FLOAT32: return rows<Float32>(count, panel, x, row, out, Counts());
    case BFLOAT16: return rows<Bfloat16>(count, panel, x, row, out, Counts());
    case INT8: return rows<Int8>(count, panel, x, row, out, Counts());
    default: return rows<Int4>(count, panel, x, row, out, Counts());
  }
}

// The next block's size when `left` rows remain: equal blocks instead of eight and a remainder.
inline int block_rows(int left) {
  const int blocks = (left + MAX_BLOCK - 1) / MAX_BLOCK;
  return (left + blocks - 1) / blocks;
}

}  // namespace linear
