// How the threads of one step share its work and wait for each other.
#pragma once
#include <algorithm>

#include "linear.h"
#include "pool.h"

// A thread inside one step.
struct Worker {
  int thread;
  unsigned phase = 0;            // counts the phases whose work is shared out
  const char* ahead = nullptr;   // weights to fetch while waiting
  const char* enough = nullptr;
};

class Crew {
 public:
  explicit Crew(int threads) : threads(threads), pool_(threads), shares_{pool::Shares(threads), pool::Shares(threads)} {}

  // work(worker) on every thread.
  template <class Work>
  void run(Work work) {
    for (pool::Shares& s : shares_) for (int t = 0; t < threads; t++) s.reset(t);
    pool_.run([](void* f, int thread) {
      Worker w{thread};
      (*static_cast<Work*>(f))(w);
    }, &work);
  }

  // All threads arrive before any leaves.
  void meet(Worker& w) {
    pool_.barrier([&w] {
      if (w.ahead < w.enough) {
        lanes::prefetch_far(w.ahead);
        w.ahead += 64;
      } else {
        lanes::relax();
      }
    });
  }

  // While waiting, fetch the beginning of this thread's share of the next matrix.
  void expect(Worker& w, const Matrix& next) const {
    w.ahead = next.stream[w.thread];
    w.enough = w.ahead + std::min(FETCHED, next.share(w.thread) * next.bytes);
  }

  template <class Work>
  void each(const Worker& w, int count, Work work) const {
    for (int i = w.thread; i < count; i += threads) work(i);
  }

  // work(unit) for units 0..count-1, each done by whoever is free.
  template <class Work>
  void shared(Worker& w, int count, Work work) {
    const auto begin = [&](int t) { return static_cast<int>(int64_t{count} * t / threads); };
    const auto size = [&](int t) { return begin(t + 1) - begin(t); };
    take(w, 1, size, [&](int t, int first, int last) {
      for (int i = first; i < last; i++) work(begin(t) + i);
    });
  }

  // sink(row, panel, out): out[PANEL] are the panel's outputs for that row.
  template <class Sink>
  void multiply(Worker& w, const Matrix& m, const Activations& x, int rows, Sink sink) {
    const int grain = std::clamp(m.panels / threads / 32, 1, 8);
    take(w, grain, [&](int t) { return m.share(t); }, [&](int t, int first, int last) {
      for (int p = first; p < last; p++) panel(m, m.stream[t] + p * m.bytes, x, rows, m.first[t] + p, sink);
    });
  }

  const int threads;

 private:
  static constexpr size_t FETCHED = 96 << 10;

  template <class Sink>
  static void panel(const Matrix& m, const char* weights, const Activations& x, int rows, int index, Sink& sink) {
    alignas(64) float out[linear::MAX_BLOCK * PANEL];
    for (int row = 0, n; row < rows; row += n) {
      n = linear::block_rows(rows - row);
      linear::multiply(m.precision, n, weights, x, row, out);
      for (int r = 0; r < n; r++) sink(row + r, index, out + r * PANEL);
    }
  }

  template <class Size, class Work>
  void take(Worker& w, int grain, Size size, Work work) {
    pool::Shares& now = shares_[w.phase++ % 2];
    shares_[w.phase % 2].reset(w.thread);  // its last use ended at the meeting before this phase
    now.take(w.thread, grain, size, work);
  }

  pool::Pool pool_;
  pool::Shares shares_[2];
};
