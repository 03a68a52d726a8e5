// What Python and the kernels agree on. library.py mirrors these structs; ABI counts their changes.
#pragma once
#include <cstdint>

constexpr int32_t ABI = 2;

enum Precision : int32_t { FLOAT32 = 0, BFLOAT16 = 1, INT8 = 2, INT4 = 3 };

// Tensors by kind; those of the whole model ignore the layer.
enum Kind : int32_t {
  EMBED, HEAD, NORM, ATTN_NORM, MLP_NORM, Q, K, V, O, GATE, UP, DOWN, Q_BIAS, K_BIAS, V_BIAS, Q_NORM, K_NORM, KINDS
};

struct Shape {
  int32_t layers, hidden, heads, kv_heads, head_dim, mlp, vocab;
  int32_t blocks;     // of BLOCK tokens each, in the KV pool
  int32_t positions;  // rows of the rotary tables
  int32_t precision, kv_int8, threads, qkv_bias, qk_norm;  // kv_int8: else float32 with float32 weights, bfloat16 with the rest
  float rms_eps;
};

// A ragged batch, as backends.engine.api.Step says it.
struct Rows {
  int32_t rows, sequences, width, wanted;  // width: blocks per row of `tables`
  const int32_t *tokens, *positions, *sequence, *tables, *logit_rows;
};

enum Status : int32_t {
  OK = 0, BAD_TOKEN = 1, BAD_POSITION = 2, BAD_SEQUENCE = 3, BAD_BLOCK = 4, BAD_LOGIT_ROW = 5, OUT_OF_MEMORY = 6,
  FORKED = 7, BAD_TENSOR = 8
};

constexpr int BLOCK_TOKENS = 16;
