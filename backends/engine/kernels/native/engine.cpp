// The C functions that Python calls. Nothing throws across this border; every index is checked before it is used.
#include <unistd.h>

#include <memory>

#include "step.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

pool::Gate gate;  // shared by all models of the process

struct Forwarder {
  virtual ~Forwarder() = default;
  virtual void run(const Rows& step, float* logits) = 0;
  virtual void sweep(int64_t* sums) = 0;
};

template <class T>
struct Typed final : Forwarder {
  explicit Typed(const Model& model) : forward(model) {}
  void run(const Rows& step, float* logits) override { forward.run(step, logits); }
  void sweep(int64_t* sums) override { forward.sweep(sums); }
  Forward<T> forward;
};

struct Engine {
  explicit Engine(const Shape& shape) : model(shape), process(getpid()) {
    if (shape.kv_int8) forward = std::make_unique<Typed<kv::Int8>>(model);
    else if (shape.precision == FLOAT32) forward = std::make_unique<Typed<kv::Float32>>(model);
    else forward = std::make_unique<Typed<kv::Bfloat16>>(model);
  }
  Model model;
  std::unique_ptr<Forwarder> forward;
  pid_t process;  // a fork takes no threads along
};

Status check_row(const Shape& shape, const Rows& step, int r) {
  const int token = step.tokens[r], position = step.positions[r], sequence = step.sequence[r];
  if (token < 0 || token >= shape.vocab) return BAD_TOKEN;
  if (sequence < 0 || sequence >= step.sequences) return BAD_SEQUENCE;
  if (position < 0 || position >= shape.positions || position / BLOCK_TOKENS >= step.width) return BAD_POSITION;
  const bool goes_on = r + 1 < step.rows && step.sequence[r + 1] == sequence && step.positions[r + 1] > position;
  if (goes_on) return OK;  // the blocks are checked at the end of the run
  const int32_t* table = step.tables + static_cast<int64_t>(sequence) * step.width;
  for (int b = 0; b <= position / BLOCK_TOKENS; b++) if (table[b] < 0 || table[b] >= shape.blocks) return BAD_BLOCK;
  return OK;
}

Status check(const Shape& shape, const Rows& step) {
  for (int r = 0; r < step.rows; r++) if (const Status s = check_row(shape, step, r)) return s;
  for (int i = 0; i < step.wanted; i++) {
    if (step.logit_rows[i] < 0 || step.logit_rows[i] >= step.rows) return BAD_LOGIT_ROW;
  }
  return OK;
}

}  // namespace

EXPORT int32_t turnout_abi() { return ABI; }

// Null when there is no memory.
EXPORT Engine* turnout_create(const Shape* shape) {
  try {
    return new Engine(*shape);
  } catch (...) {
    return nullptr;
  }
}

EXPORT void turnout_destroy(Engine* engine) {
  if (engine->process == getpid()) delete engine;  // in a forked child the threads to join do not exist
}

EXPORT int32_t turnout_take(Engine* engine, int32_t kind, int32_t layer, const float* from, int64_t rows, int64_t columns) {
  return engine->model.take(kind, layer, from, rows, columns) ? OK : BAD_TENSOR;
}

// minima: null for codes of 8 bits.
EXPORT int32_t turnout_take_stored(Engine* engine, int32_t kind, int32_t layer, const uint8_t* codes,
                                   const uint16_t* scales, const uint16_t* minima, int64_t rows, int64_t columns) {
  return engine->model.take_stored(kind, layer, {codes, scales, minima}, rows, columns) ? OK : BAD_TENSOR;
}

// cosine, sine: [positions][head_dim / 2]
EXPORT void turnout_rotation(Engine* engine, const float* cosine, const float* sine) {
  Model& m = engine->model;
  std::memcpy(m.cosine.data(), cosine, m.cosine.size() * sizeof(float));
  std::memcpy(m.sine.data(), sine, m.sine.size() * sizeof(float));
}

EXPORT int32_t turnout_step(Engine* engine, const Rows* step, float* logits) {
  if (engine->process != getpid()) return FORKED;
  if (step->rows == 0) return OK;
  if (const Status s = check(engine->model.shape, *step)) return s;
  gate.enter();
  Status status = OK;
  try {
    engine->forward->run(*step, logits);
  } catch (...) {
    status = OUT_OF_MEMORY;
  }
  gate.leave();
  return status;
}

EXPORT int64_t turnout_weight_bytes(const Engine* engine) { return engine->model.weight_bytes(); }

// Reads every weight once, as a step does; sums: [threads].
EXPORT int32_t turnout_sweep(Engine* engine, int64_t* sums) {
  if (engine->process != getpid()) return FORKED;
  gate.enter();
  engine->forward->sweep(sums);
  gate.leave();
  return OK;
}
