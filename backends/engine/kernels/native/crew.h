// How the threads of one step share its work and wait for each other.
#pragma once
#include <algorithm>

#include "linear.h"
#include "pool.h"

// A thread inside one step.
struct Worker {
  int thread;
  uint64_t phase;
  int done = 0, total = 0;      // units of the phase: by this thread, by all
  const char* ahead = nullptr;  // weights to fetch while waiting
  const char* enough = nullptr;
};

class Crew {
 public:
  explicit Crew(int threads) : threads(threads), pool_(threads), phases_(threads) {}

  // work(worker) on every thread: the same phases, each ended by `meet`.
  template <class Work>
  void run(Work work) {
    first_ = phases_.current();
    auto part = [&](int thread) {
      Worker w{thread, first_};
      work(w);
    };
    pool_.run([](void* f, int thread) { (*static_cast<decltype(part)*>(f))(thread); }, &part);
  }

  // Returns when all units of the phase are done.
  void meet(Worker& w) {
    phases_.finish(w.phase, w.done, w.total, [&w] {
      if (w.ahead < w.enough) {
        lanes::prefetch_far(w.ahead);
        w.ahead += 64;
      } else {
        lanes::relax();
      }
    });
    w.phase++, w.done = 0;
  }

  // While waiting, fetch the beginning of this thread's share of the next matrix.
  void expect(Worker& w, const Matrix& next) const {
    w.ahead = next.stream[w.thread];
    w.enough = w.ahead + std::min(FETCHED, next.share(w.thread) * next.bytes);
  }

  // work(unit) for units 0..count-1, each done by whoever is free.
  template <class Work>
  void shared(Worker& w, int count, Work work) {
    const auto begin = [&](int t) { return static_cast<int>(int64_t{count} * t / threads); };
    const auto size = [&](int t) { return begin(t + 1) - begin(t); };
    take(w, 1, count, size, [&](int t, int first, int last) {
      for (int i = first; i < last; i++) work(begin(t) + i);
    });
  }

  // sink(row, panel, out): out[PANEL] are the panel's outputs for that row.
  template <class Sink>
  void multiply(Worker& w, const Matrix& m, const Activations& x, int rows, Sink sink) {
    const int grain = std::clamp(m.panels / threads / 32, 1, 8);
    take(w, grain, m.panels, [&](int t) { return m.share(t); }, [&](int t, int first, int last) {
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

  // Own share first, then the others': a core lent to another process does not hold up the step. Who does a unit
  // changes nothing in its result.
  template <class Size, class Work>
  void take(Worker& w, int grain, int total, Size size, Work work) {
    w.total = total;
    for (int i = 0; i < threads; i++) {
      const int owner = (w.thread + i) % threads, end = size(owner);
      for (int unit; (unit = phases_.take(w.phase, owner, grain, end)) >= 0;) {
        const int last = std::min(unit + grain, end);
        work(owner, unit, last);
        w.done += last - unit;
      }
    }
  }

  pool::Pool pool_;
  pool::Phases phases_;
  uint64_t first_ = 0;  // phase with which the running job began
};
