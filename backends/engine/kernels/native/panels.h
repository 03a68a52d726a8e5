// How a weight matrix lies in memory: panels of 32 outputs, each panel one forward stream of bytes.
//
// Inside a panel the inputs run slowest, so that one pass over the stream finishes 32 outputs:
//   float32   [k][32]                       bfloat16  [k/2][32][2]
//   int8      per 32 inputs: [8][32][4] + 128, then 32 fp16 scales
//   int4      per 32 inputs: [4][32][4] bytes, byte o of step s = input 8s+o (low nibble) and 8s+4+o (high nibble),
//             then 32 fp16 scales and 32 fp16 minima: w = q * scale + minimum, GGUF's Q4_1 without loss
// The panels of one thread lie one after the other, matrix after matrix in the order of use: a step reads each
// thread's share of the arena from front to back.
#pragma once
#include <cmath>
#include <vector>

#include "abi.h"
#include "arena.h"
#include "numbers.h"

constexpr int PANEL = 32;  // outputs
constexpr int GROUP = 32;  // inputs that share an activation scale, and a weight's

inline size_t panel_bytes(int precision, int inputs) {
  const size_t k = inputs;
  switch (precision) {
    case FLOAT32: return k * PANEL * 4;
    case BFLOAT16: return k * PANEL * 2;
    case INT8: return k / GROUP * (GROUP * PANEL + PANEL * 2);
    default: return k / GROUP * (GROUP * PANEL / 2 + 2 * PANEL * 2);
  }
}

struct Matrix {
  int precision = FLOAT32, outputs = 0, inputs = 0;  // inputs padded to GROUP
  int panels = 0;
  size_t bytes = 0;           // of one panel
  std::vector<int> first;     // panel with which each thread's share begins; first[threads] = panels
  std::vector<char*> stream;  // where it begins

  Matrix() = default;
  Matrix(int precision, int outputs, int inputs, int threads)
      : precision(precision), outputs(outputs), inputs(rounded_up(inputs, GROUP)),
        panels(rounded_up(outputs, PANEL) / PANEL), bytes(panel_bytes(precision, this->inputs)), stream(threads) {
    for (int t = 0; t <= threads; t++) first.push_back(static_cast<int>(int64_t{panels} * t / threads));
  }
  int share(int thread) const { return first[thread + 1] - first[thread]; }
  char* panel(int p) const {
    int t = 0;
    while (p >= first[t + 1]) t++;
    return stream[t] + (p - first[t]) * bytes;
  }
};

namespace packing {

// One output's weights into column c of a panel. `row` has `inputs` numbers; the padding stays zero.
inline void float32(char* panel, int c, const float* row, int inputs) {
  float* w = reinterpret_cast<float*>(panel);
  for (int k = 0; k < inputs; k++) w[k * PANEL + c] = row[k];
}

inline void bfloat16(char* panel, int c, const float* row, int inputs) {
  uint16_t* w = reinterpret_cast<uint16_t*>(panel);
  for (int k = 0; k < inputs; k++) w[(k / 2 * PANEL + c) * 2 + k % 2] = numbers::to_bf16(row[k]);
}

inline void int8_group(char* group, int c, const float* row, int inputs) {
  float largest = 0;
  for (int k = 0; k < inputs; k++) largest = std::fmax(largest, std::fabs(row[k]));
  const uint16_t scale = numbers::to_f16(largest / 127);
  const float s = numbers::from_f16(scale);
  uint8_t* w = reinterpret_cast<uint8_t*>(group);
  for (int k = 0; k < GROUP; k++) {
    const float q = k < inputs && s > 0 ? std::nearbyintf(row[k] / s) : 0;
    const int level = static_cast<int>(q < -127 ? -127 : q > 127 ? 127 : q);
    w[(k / 4 * PANEL + c) * 4 + k % 4] = static_cast<uint8_t>(level + 128);
  }
  reinterpret_cast<uint16_t*>(group + GROUP * PANEL)[c] = scale;
}

inline void int4_group(char* group, int c, const float* row, int inputs) {
  float low = row[0], high = row[0];
  for (int k = 1; k < inputs; k++) low = std::fmin(low, row[k]), high = std::fmax(high, row[k]);
  const uint16_t scale = numbers::to_f16((high - low) / 15), minimum = numbers::to_f16(low);
  const float s = numbers::from_f16(scale), m = numbers::from_f16(minimum);
  uint8_t* w = reinterpret_cast<uint8_t*>(group);
  for (int k = 0; k < inputs; k++) {
    const float q = s > 0 ? std::nearbyintf((row[k] - m) / s) : 0;
    const int nibble = static_cast<int>(q < 0 ? 0 : q > 15 ? 15 : q);
    w[(k / 8 * PANEL + c) * 4 + k % 4] |= static_cast<uint8_t>(k % 8 < 4 ? nibble : nibble << 4);
  }
  uint16_t* tail = reinterpret_cast<uint16_t*>(group + GROUP * PANEL / 2);
  tail[c] = scale, tail[PANEL + c] = minimum;
}

inline void output(const Matrix& m, int n, const float* row, int inputs) {
  char* panel = m.panel(n / PANEL);
  const int c = n % PANEL;
  if (m.precision == FLOAT32) return float32(panel, c, row, inputs);
  if (m.precision == BFLOAT16) return bfloat16(panel, c, row, inputs);
  const size_t step = panel_bytes(m.precision, GROUP);
  const auto group = m.precision == INT8 ? int8_group : int4_group;
  for (int k = 0; k < inputs; k += GROUP) {
    group(panel + k / GROUP * step, c, row + k, inputs - k < GROUP ? inputs - k : GROUP);
  }
}

}  // namespace packing
