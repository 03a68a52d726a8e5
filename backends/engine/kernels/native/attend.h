// Attention of one task: gathers its queries, walks its chunks, leaves the result where the next layer reads it.
#pragma once
#include <cmath>

#include "attention.h"
#include "linear.h"
#include "model.h"
#include "tasks.h"

template <class T>
class Attend {
 public:
  explicit Attend(const Shape& shape)
      : queries(shape.heads / shape.kv_heads), together(std::max(1, attention::QUERIES / queries)), shape_(shape) {
    const size_t bytes = kv::Tiles<T>::bytes(shape.layers, shape.blocks, shape.kv_heads, shape.head_dim);
    memory_ = Arena(bytes);
    std::memset(memory_.data(), 0, bytes);  // touched here, not in the first requests
    tiles = {reinterpret_cast<typename T::Number*>(memory_.data()), shape.blocks, shape.kv_heads, shape.head_dim};
    for (int t = 0; t < shape.threads; t++) scratch_.emplace_back(together * queries, shape.head_dim);
  }

  // Few tasks and long sequences: chunks are computed apart and joined afterwards. The numbers are the same.
  bool splits(const Attending& a) const {
    const int units = static_cast<int>(a.tasks.size()) * shape_.kv_heads;
    return units < 4 * shape_.threads && a.chunks.size() > a.tasks.size();
  }
  void reserve(const Attending& a) {
    const size_t numbers = splits(a) ? a.parts * shape_.kv_heads * part_size() : 0;
    if (parts_.size() < numbers) parts_.resize(numbers);
  }

  // All chunks of one task and KV head. qkv: [rows][width]; out: one row per attending row.
  void whole(int thread, int layer, const Attending& a, const Task& task, int head, const Rows& step, const float* qkv,
             const Activations& out) {
    Scratch& s = scratch_[thread];
    gather(s, a, task, head, step, qkv);
    for (int c = 0; c < task.chunks(); c++) {
      chunk(s, layer, task, head, c);
      for (int q = 0; q < task.rows * queries; q++) {
        if (c * attention::CHUNK > s.ends[q]) continue;
        s.seen[q].out = place(task, head, q, out);
        attention::join(s.seen[q], c == 0, s.largest[q], s.total[q], &s.values[q * shape_.head_dim], shape_.head_dim);
      }
    }
    for (int q = 0; q < task.rows * queries; q++) attention::finish(s.seen[q], shape_.head_dim);
  }

  // One chunk, kept for `joined`.
  void part(int thread, int layer, const Attending& a, const Task& task, int head, int c, const Rows& step,
            const float* qkv) {
    Scratch& s = scratch_[thread];
    gather(s, a, task, head, step, qkv);
    chunk(s, layer, task, head, c);
    for (int q = 0; q < task.rows * queries; q++) {
      float* to = stored(a, task, head, c, q);
      to[0] = s.largest[q], to[1] = s.total[q];
      std::memcpy(to + 2, &s.values[q * shape_.head_dim], sizeof(float) * shape_.head_dim);
    }
  }

  void joined(const Attending& a, const Task& task, int head, const Rows& step, const Activations& out) {
    for (int q = 0; q < task.rows * queries; q++) {
      const int end = step.positions[a.rows[task.first + q / queries]];
      attention::Seen seen{0, 0, place(task, head, q, out)};
      for (int c = 0; c * attention::CHUNK <= end; c++) {
        const float* from = stored(a, task, head, c, q);
        attention::join(seen, c == 0, from[0], from[1], from + 2, shape_.head_dim);
      }
      attention::finish(seen, shape_.head_dim);
    }
  }

  const int queries, together;  // query heads per KV head; rows per task at most
  kv::Tiles<T> tiles;

 private:
  struct Scratch : attention::Scratch<T> {
    std::vector<int> ends;
    std::vector<attention::Seen> seen;
    Scratch(int most, int head_dim) : attention::Scratch<T>(most, head_dim), ends(most), seen(most) {}
  };

  void gather(Scratch& s, const Attending& a, const Task& task, int head, const Rows& step, const float* qkv) {
    const int64_t width = static_cast<int64_t>(shape_.heads + 2 * shape_.kv_heads) * shape_.head_dim;
    for (int i = 0; i < task.rows; i++) {
      const int row = a.rows[task.first + i];
      for (int q = 0; q < queries; q++) {
        const float* query = qkv + row * width + (head * queries + q) * shape_.head_dim;
        s.queries.set(i * queries + q, query, shape_.head_dim);
        s.ends[i * queries + q] = step.positions[row];
      }
    }
  }
  void chunk(Scratch& s, int layer, const Task& task, int head, int c) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
    const int first = c * attention::CHUNK;
    attention::chunk(tiles, s, layer, head, task.table, first, task.last, s.ends.data(), task.rows * queries, scale);
  }
  float* place(const Task& task, int head, int q, const Activations& out) const {
    const int column = (head * queries + q % queries) * shape_.head_dim;
    return out.full + out.at(task.first + q / queries) + column;
  }
  size_t part_size() const { return shape_.head_dim + 2; }
  float* stored(const Attending& a, const Task& task, int head, int c, int q) {
    const size_t index = head * a.parts + task.parts + static_cast<size_t>(c) * task.rows * queries + q;
    return parts_.data() + index * part_size();
  }

  const Shape shape_;
  Arena memory_;
  std::vector<Scratch> scratch_;
  std::vector<float> parts_;
};
