// One forward pass over a ragged batch: the same straight line on every thread, with meetings in between.
#pragma once
#include "attend.h"
#include "buffers.h"
#include "crew.h"
#include "rowwise.h"

template <class T>
class Forward {
 public:
  explicit Forward(const Model& model) : model_(model), shape_(model.shape), crew_(shape_.threads), attend_(shape_) {}

  // Throws std::bad_alloc before anything is written. logits: [wanted][vocab].
  void run(const Rows& step, float* logits) {
    step_ = &step, logits_ = logits;
    buffers_.grow(model_, step.rows);
    all_.rows.resize(step.rows);
    for (int i = 0; i < step.rows; i++) all_.rows[i] = i;
    wanted_.rows.assign(step.logit_rows, step.logit_rows + step.wanted);
    for (Attending* a : {&all_, &wanted_}) {
      a->plan(step, attend_.together, attend_.queries);
      attend_.reserve(*a);
    }
    crew_.run([this](Worker& w) { work(w); });
  }

  // Reads all weights once with all threads, for measuring: each thread's sum goes to sums[thread].
  void sweep(int64_t* sums) {
    const int64_t pieces = 32 * crew_.threads, size = model_.weight_bytes() / 256;
    std::memset(sums, 0, sizeof(int64_t) * crew_.threads);
    crew_.run([&](Worker& w) {
      crew_.shared(w, static_cast<int>(pieces), [&](int piece) {
        const char* p = model_.weights() + size * piece / pieces * 256;
        const char* end = model_.weights() + size * (piece + 1) / pieces * 256;
        lanes::I sum[4] = {lanes::int1(0), lanes::int1(0), lanes::int1(0), lanes::int1(0)};
        for (; p < end; p += 256) {
          linear::fetch<1>(p), linear::fetch<1>(p + 128);
          for (int i = 0; i < 4; i++) sum[i] = lanes::dot4(sum[i], lanes::raw(p + 64 * i), lanes::Quad{});
        }
        sums[w.thread] += lanes::sum(lanes::add(lanes::add(sum[0], sum[1]), lanes::add(sum[2], sum[3])));
      });
      crew_.meet(w);
    });
  }

 private:
  void work(Worker& w) {
    crew_.expect(w, model_.layers[0].qkv);
    for (int l = 0; l < shape_.layers; l++) {
      const bool is_last = l + 1 == shape_.layers;
      keys_and_values(w, l);
      if (is_last && step_->wanted == 0) return;
      attention(w, l, is_last ? wanted_ : all_);
      output(w, model_.layers[l], is_last);
      mlp(w, l, is_last ? buffers_.wanted : buffers_.x, is_last ? step_->wanted : step_->rows);
    }
    head(w);
  }

  float* residual(int r) const { return at(buffers_.x, r); }
  float* at(float* x, int r) const { return x + static_cast<int64_t>(r) * shape_.hidden; }
  float* qkv(int r) const { return buffers_.qkv + static_cast<int64_t>(r) * model_.qkv_outputs(); }

  void norm(const float* x, const std::vector<float>& weight, int row, int precision) {
    const Activations& a = buffers_.hidden;
    rowwise::rms_norm(x, weight.data(), a.full + a.at(row), shape_.hidden, shape_.rms_eps);
    rowwise::prepare(a, row, precision);
  }

  // From here on a row of the last layer that nobody asked about has done its duty: its keys and values are written.
  void keys_and_values(Worker& w, int l) {
    const Layer& layer = model_.layers[l];
    crew_.shared(w, step_->rows, [&](int r) {
      if (l == 0) model_.embed(step_->tokens[r], residual(r));
      norm(residual(r), layer.attn_norm, r, shape_.precision);
    });
    crew_.meet(w);
    crew_.multiply(w, layer.qkv, buffers_.hidden, step_->rows, [&](int row, int panel, const float* out) {
      const int n = std::min(PANEL, model_.qkv_outputs() - panel * PANEL);
      std::memcpy(qkv(row) + panel * PANEL, out, sizeof(float) * n);
    });
    crew_.expect(w, layer.o);
    crew_.meet(w);
    crew_.shared(w, step_->rows, [&](int r) { place(l, r); });
    crew_.meet(w);
  }

  // Bias, per-head norm, rotation; then the row's keys and values into the pool.
  void place(int l, int r) {
    const Layer& layer = model_.layers[l];
    const int dim = shape_.head_dim, position = step_->positions[r];
    if (shape_.qkv_bias) rowwise::add(qkv(r), layer.bias.data(), model_.qkv_outputs());
    for (int h = 0; h < shape_.heads + shape_.kv_heads; h++) {
      const std::vector<float>& weight = h < shape_.heads ? layer.q_norm : layer.k_norm;
      float* v = qkv(r) + h * dim;
      if (shape_.qk_norm) rowwise::rms_norm(v, weight.data(), v, dim, shape_.rms_eps);
      const int64_t angle = static_cast<int64_t>(position) * (dim / 2);
      rowwise::rotate(v, model_.cosine.data() + angle, model_.sine.data() + angle, dim);
    }
    const int64_t table = static_cast<int64_t>(step_->sequence[r]) * step_->width;
    const int block = step_->tables[table + position / BLOCK_TOKENS];
    const float *keys = qkv(r) + model_.q_outputs(), *values = keys + model_.kv_outputs();
    for (int h = 0; h < shape_.kv_heads; h++) {
      attend_.tiles.write(l, block, h, position % BLOCK_TOKENS, keys + h * dim, values + h * dim);
    }
  }

  void attention(Worker& w, int l, const Attending& a) {
    const int heads = shape_.kv_heads, units = static_cast<int>(a.tasks.size()) * heads;
    const Activations& out = buffers_.heads;
    if (attend_.splits(a)) {
      crew_.shared(w, static_cast<int>(a.chunks.size()) * heads, [&](int u) {
        const auto [task, chunk] = a.chunks[u / heads];
        attend_.part(w.thread, l, a, a.tasks[task], u % heads, chunk, *step_, buffers_.qkv);
      });
      crew_.meet(w);
      crew_.shared(w, units, [&](int u) { attend_.joined(a, a.tasks[u / heads], u % heads, *step_, out); });
    } else {
      crew_.shared(w, units, [&](int u) {
        attend_.whole(w.thread, l, a, a.tasks[u / heads], u % heads, *step_, buffers_.qkv, out);
      });
    }
    crew_.meet(w);
    crew_.shared(w, static_cast<int>(a.rows.size()), [&](int r) { rowwise::prepare(out, r, shape_.precision); });
    crew_.meet(w);
  }

  // x += o(attention); the last layer goes on with the wanted rows only.
  void output(Worker& w, const Layer& layer, bool is_last) {
    float* to = is_last ? buffers_.wanted : buffers_.x;
    crew_.multiply(w, layer.o, buffers_.heads, is_last ? step_->wanted : step_->rows,
                   [&](int row, int panel, const float* out) {
      add(residual(is_last ? step_->logit_rows[row] : row), out, panel, at(to, row));
    });
    crew_.expect(w, layer.gate_up);
    crew_.meet(w);
  }

  void add(const float* x, const float* out, int panel, float* to) const {
    for (int k = panel * PANEL; k < std::min(panel * PANEL + PANEL, shape_.hidden); k += 16) {
      lanes::store(to + k, lanes::add(lanes::load(x + k), lanes::load(out + k % PANEL)));
    }
  }

  void mlp(Worker& w, int l, float* x, int rows) {
    const Layer& layer = model_.layers[l];
    const Activations& middle = buffers_.mlp;
    crew_.shared(w, rows, [&](int r) { norm(at(x, r), layer.mlp_norm, r, shape_.precision); });
    crew_.meet(w);
    crew_.multiply(w, layer.gate_up, buffers_.hidden, rows, [&](int row, int panel, const float* out) {
      const lanes::F gated = lanes::mul(rowwise::silu(lanes::load(out)), lanes::load(out + 16));
      lanes::store(middle.full + middle.at(row) + panel * 16, gated);
    });
    crew_.expect(w, layer.down);
    crew_.meet(w);
    crew_.shared(w, rows, [&](int r) { rowwise::prepare(middle, r, shape_.precision); });
    crew_.meet(w);
    crew_.multiply(w, layer.down, middle, rows, [&](int row, int panel, const float* out) {
      add(at(x, row), out, panel, at(x, row));
    });
    crew_.expect(w, l + 1 < shape_.layers ? model_.layers[l + 1].qkv : model_.head);
    crew_.meet(w);
  }

  void head(Worker& w) {
    crew_.shared(w, step_->wanted, [&](int r) { norm(at(buffers_.wanted, r), model_.norm, r, model_.head.precision); });
    crew_.meet(w);
    crew_.multiply(w, model_.head, buffers_.hidden, step_->wanted, [&](int row, int panel, const float* out) {
      const int n = std::min(PANEL, shape_.vocab - panel * PANEL);
      std::memcpy(logits_ + static_cast<int64_t>(row) * shape_.vocab + panel * PANEL, out, sizeof(float) * n);
    });
    crew_.meet(w);
  }

  const Model& model_;
  const Shape& shape_;
  Crew crew_;
  Attend<T> attend_;
  Buffers buffers_;
  Attending all_, wanted_;
  const Rows* step_ = nullptr;
  float* logits_ = nullptr;
};
