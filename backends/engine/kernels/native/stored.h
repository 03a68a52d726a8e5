// Weights that are integers already, as files hold them, into panels: the same bits as packing what they were made from.
#pragma once
#include "panels.h"

// Of one tensor, row after row. INT8: one signed code a byte. INT4: two codes a byte, the earlier input in the low half.
// scales, minima: fp16 for each group of 32 inputs, the last one perhaps shorter; minima null in INT8.
struct Stored {
  const uint8_t* codes;
  const uint16_t *scales, *minima;
};

namespace packing {

inline void stored8(char* panel, int c, const uint8_t* codes, const uint16_t* scales, int inputs) {
  for (int k = 0; k < rounded_up(inputs, GROUP); k++) {
    char* group = panel + k / GROUP * panel_bytes(INT8, GROUP);
    const int within = k % GROUP;
    const uint8_t level = k < inputs ? codes[k] : 0;
    reinterpret_cast<uint8_t*>(group)[(within / 4 * PANEL + c) * 4 + within % 4] = static_cast<uint8_t>(level + 128);
    if (within == 0) reinterpret_cast<uint16_t*>(group + GROUP * PANEL)[c] = scales[k / GROUP];
  }
}

inline void stored4(char* panel, int c, const uint8_t* codes, const uint16_t* scales, const uint16_t* minima, int inputs) {
  for (int k = 0; k < inputs; k++) {
    char* group = panel + k / GROUP * panel_bytes(INT4, GROUP);
    const int within = k % GROUP, nibble = codes[k / 2] >> (k % 2 * 4) & 15;
    reinterpret_cast<uint8_t*>(group)[(within / 8 * PANEL + c) * 4 + within % 4] |=
        static_cast<uint8_t>(within % 8 < 4 ? nibble : nibble << 4);
    if (within) continue;
    uint16_t* tail = reinterpret_cast<uint16_t*>(group + GROUP * PANEL / 2);
    tail[c] = scales[k / GROUP], tail[PANEL + c] = minima[k / GROUP];
  }
}

// Output n of the tensor into output `to` of the matrix.
inline void stored(const Matrix& m, int to, const Stored& from, int64_t n, int inputs) {
  char* panel = m.panel(to / PANEL);
  const int64_t group = n * (rounded_up(inputs, GROUP) / GROUP);
  if (m.precision == INT8) return stored8(panel, to % PANEL, from.codes + n * inputs, from.scales + group, inputs);
  const uint8_t* codes = from.codes + n * ((inputs + 1) / 2);
  stored4(panel, to % PANEL, codes, from.scales + group, from.minima + group, inputs);
}

}  // namespace packing
