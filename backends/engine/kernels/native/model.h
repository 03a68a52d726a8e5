// The weights of one model: packed once, in the order in which a step reads them.
#pragma once
#include <array>
#include <vector>

#include "abi.h"
#include "panels.h"
#include "stored.h"

struct Layer {
  Matrix qkv, o, gate_up, down;  // gate_up: each panel 16 gates and the 16 ups they multiply
  std::vector<float> attn_norm, mlp_norm, bias, q_norm, k_norm;
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape(shape), layers(shape.layers), norm(shape.hidden) {
    const int precision = shape.precision, threads = shape.threads, hidden = shape.hidden;
    for (Layer& layer : layers) {
      layer.qkv = Matrix(precision, qkv_outputs(), hidden, threads);
      layer.o = Matrix(precision, hidden, q_outputs(), threads);
      layer.gate_up = Matrix(precision, 2 * shape.mlp, hidden, threads);
      layer.down = Matrix(precision, hidden, shape.mlp, threads);
      layer.attn_norm.resize(hidden), layer.mlp_norm.resize(hidden);
      if (shape.qkv_bias) layer.bias.resize(qkv_outputs());
      if (shape.qk_norm) layer.q_norm.resize(shape.head_dim), layer.k_norm.resize(shape.head_dim);
    }
    head = Matrix(precision == INT4 ? INT8 : precision, shape.vocab, hidden, threads);
    lay_out(threads);
    const size_t number = precision == FLOAT32 ? sizeof(float) : sizeof(uint16_t);
    embedding_ = Arena(static_cast<size_t>(shape.vocab) * hidden * number);
    const size_t angles = static_cast<size_t>(shape.positions) * (shape.head_dim / 2);
    cosine.resize(angles), sine.resize(angles);
  }

  int q_outputs() const { return shape.heads * shape.head_dim; }
  int kv_outputs() const { return shape.kv_heads * shape.head_dim; }
  int qkv_outputs() const { return q_outputs() + 2 * kv_outputs(); }
  size_t weight_bytes() const { return weight_bytes_; }
  const char* weights() const { return weights_.data(); }

  void embed(int token, float* x) const {
    const size_t at = static_cast<size_t>(token) * shape.hidden;
    if (shape.precision == FLOAT32) {
      std::memcpy(x, reinterpret_cast<const float*>(embedding_.data()) + at, sizeof(float) * shape.hidden);
      return;
    }
    const uint16_t* row = reinterpret_cast<const uint16_t*>(embedding_.data()) + at;
    for (int k = 0; k < shape.hidden; k++) x[k] = numbers::from_bf16(row[k]);
  }

  // Takes one tensor, row-major float32. False when its size is not what the shape says.
  bool take(int kind, int layer, const float* from, int64_t rows, int64_t columns) {
    if (kind < 0 || kind >= KINDS || layer < 0 || layer >= shape.layers) return false;
    if (kind == EMBED) return rows == shape.vocab && columns == shape.hidden && (take_embedding(from), true);
    const Place to = place(kind, layer);
    if (!to.matrix) return rows == 1 && take_vector(kind, layers[layer], from, columns);
    if (rows != to.outputs || columns != to.inputs) return false;
    for (int n = 0; n < to.outputs; n++) packing::output(*to.matrix, to.output(n), from + n * columns, to.inputs);
    return true;
  }

  // The same for integers. False also for a tensor that this model does not hold as such ones.
  bool take_stored(int kind, int layer, const Stored& from, int64_t rows, int64_t columns) {
    if (kind < 0 || kind >= KINDS || layer < 0 || layer >= shape.layers) return false;
    const Place to = place(kind, layer);
    if (!to.matrix || to.matrix->precision != (from.minima ? INT4 : INT8)) return false;
    if (rows != to.outputs || columns != to.inputs) return false;
    for (int n = 0; n < to.outputs; n++) packing::stored(*to.matrix, to.output(n), from, n, to.inputs);
    return true;
  }

  const Shape shape;
  std::vector<Layer> layers;
  Matrix head;
  std::vector<float> norm, cosine, sine;  // cosine, sine: [positions][head_dim / 2]

 private:
  // Gives every thread one run of memory for its panels of all matrices.
  void lay_out(int threads) {
    std::vector<Matrix*> order;
    for (Layer& l : layers) order.insert(order.end(), {&l.qkv, &l.o, &l.gate_up, &l.down});
    order.push_back(&head);
    size_t total = 0;
    std::vector<std::pair<char**, size_t>> places;
    for (int t = 0; t < threads; t++) {
      for (Matrix* m : order) {
        places.emplace_back(&m->stream[t], total);
        total += m->share(t) * m->bytes;
      }
    }
    weight_bytes_ = total;
    weights_ = Arena(total);
    for (auto& [place, offset] : places) *place = weights_.data() + offset;
  }

  // Where a tensor's outputs go; `matrix` is null for one that no linear layer holds.
  struct Place {
    Matrix* matrix = nullptr;
    int outputs = 0, inputs = 0, at = 0;
    bool is_half = false;  // of gate_up, whose panels hold 16 of each
    int output(int n) const { return is_half ? n / 16 * PANEL + at + n % 16 : at + n; }
  };
  Place place(int kind, int layer) {
    Layer& l = layers[layer];
    switch (kind) {
      case HEAD: return {&head, shape.vocab, shape.hidden};
      case Q: return {&l.qkv, q_outputs(), shape.hidden};
      case K: return {&l.qkv, kv_outputs(), shape.hidden, q_outputs()};
      case V: return {&l.qkv, kv_outputs(), shape.hidden, q_outputs() + kv_outputs()};
      case O: return {&l.o, shape.hidden, q_outputs()};
      case GATE: return {&l.gate_up, shape.mlp, shape.hidden, 0, true};
      case UP: return {&l.gate_up, shape.mlp, shape.hidden, 16, true};
      case DOWN: return {&l.down, shape.hidden, shape.mlp};
      default: return {};
    }
  }
  bool take_vector(int kind, Layer& l, const float* from, int64_t n) {
    const auto copy = [&](std::vector<float>& to, int64_t at, int64_t size) {
      if (n != size || at + size > static_cast<int64_t>(to.size())) return false;
      std::memcpy(to.data() + at, from, sizeof(float) * n);
      return true;
    };
    switch (kind) {
      case NORM: return copy(norm, 0, shape.hidden);
      case ATTN_NORM: return copy(l.attn_norm, 0, shape.hidden);
      case MLP_NORM: return copy(l.mlp_norm, 0, shape.hidden);
      case Q_NORM: return copy(l.q_norm, 0, shape.head_dim);
      case K_NORM: return copy(l.k_norm, 0, shape.head_dim);
      case Q_BIAS: return copy(l.bias, 0, q_outputs());
      case K_BIAS: return copy(l.bias, q_outputs(), kv_outputs());
      default: return copy(l.bias, q_outputs() + kv_outputs(), kv_outputs());
    }
  }
  void take_embedding(const float* from) {
    const size_t n = static_cast<size_t>(shape.vocab) * shape.hidden;
    if (shape.precision == FLOAT32) {
      std::memcpy(embedding_.data(), from, n * sizeof(float));
      return;
    }
    uint16_t* to = reinterpret_cast<uint16_t*>(embedding_.data());
    for (size_t i = 0; i < n; i++) to[i] = numbers::to_bf16(from[i]);
  }

  Arena weights_, embedding_;
  size_t weight_bytes_ = 0;
};
