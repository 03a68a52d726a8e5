// Memory between the phases of a step; grows to the largest step seen.
#pragma once
#include "arena.h"
#include "linear.h"
#include "model.h"

struct Buffers {
  int rows = 0;
  float *x = nullptr, *wanted = nullptr;  // residual stream [rows][hidden], of all rows and of those with logits
  float* qkv = nullptr;                   // [rows][qkv outputs]
  Activations hidden, heads, mlp;         // inputs of qkv, gate_up and head; of o; of down

  // Room for `most` rows. What was in the buffers is lost.
  void grow(const Model& model, int most) {
    if (most <= rows) return;
    const int n = rounded_up(most, 16);
    arena_ = Arena(place(model, n, nullptr));
    place(model, n, arena_.data());
    rows = n;
  }

 private:
  size_t place(const Model& model, int n, char* base) {
    const Shape& s = model.shape;
    size_t used = 0;
    const auto take = [&]<class N>(N*& to, size_t count) {
      to = base ? reinterpret_cast<N*>(base + used) : nullptr;
      used += aligned(count * sizeof(N));
    };
    const auto activations = [&](Activations& a, int inputs) {
      a.inputs = rounded_up(inputs, GROUP);
      const size_t all = static_cast<size_t>(n) * a.inputs, groups = all / GROUP;
      take(a.full, all);
      if (s.precision == BFLOAT16) take(a.half, all);
      if (s.precision == INT8 || s.precision == INT4) {
        take(a.quantised, all), take(a.scale, groups), take(a.offset, groups), take(a.weighted, groups);
      }
    };
    take(x, static_cast<size_t>(n) * s.hidden);
    take(wanted, static_cast<size_t>(n) * s.hidden);
    take(qkv, static_cast<size_t>(n) * model.qkv_outputs());
    activations(hidden, s.hidden);
    activations(heads, model.q_outputs());
    activations(mlp, s.mlp);
    return used;
  }
  Arena arena_;
};
