// Threads that work on one step together: a brief spin, then sleep, so that an idle engine costs nothing and a busy
// one leaves the cores to the event loop whenever it has nothing to do.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "lanes.h"

namespace pool {

constexpr auto SPIN = std::chrono::microseconds(50);

// Waits until `word` differs from `seen`; `idle` runs between looks while spinning.
template <class Idle>
inline void await_change(const std::atomic<uint32_t>& word, uint32_t seen, Idle idle) {
  const auto deadline = std::chrono::steady_clock::now() + SPIN;
  do {
    for (int i = 0; i < 32; i++) {
      if (word.load(std::memory_order_acquire) != seen) return;
      idle();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  while (word.load(std::memory_order_acquire) == seen) word.wait(seen, std::memory_order_acquire);
}

// One step at a time in the whole process, in order of arrival: models that share the cores would otherwise spin
// against each other's sleeping threads at every barrier.
class Gate {
 public:
  void enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t ticket = next_++;
    turn_.wait(lock, [&] { return serving_ == ticket; });
  }
  void leave() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      serving_++;
    }
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t next_ = 0, serving_ = 0;
};

class Pool {
 public:
  explicit Pool(int threads) : size_(threads) {
    for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { serve(i); });
  }
  ~Pool() {
    stopping_.store(true, std::memory_order_relaxed);
    start();
    for (std::thread& worker : workers_) worker.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int size() const { return size_; }

  // Calls work(argument, thread) on every thread, the caller being thread 0; returns when all are done.
  void run(void (*work)(void*, int), void* argument) {
    work_ = work;
    argument_ = argument;
    if (size_ > 1) start();
    work(argument, 0);
    barrier([] { lanes::relax(); });
  }

  // All threads of the running job meet here.
  template <class Idle>
  void barrier(Idle idle) {
    if (size_ == 1) return;
    const uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
    } else {
      await_change(round_, round, idle);
    }
  }

 private:
  void start() {
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }
  void serve(int index) {
    for (uint32_t seen = 0;;) {
      await_change(epoch_, seen, [] { lanes::relax(); });
      seen++;
      if (stopping_.load(std::memory_order_relaxed)) return;
      work_(argument_, index);
      barrier([] { lanes::relax(); });
    }
  }

  const int size_;
  void (*work_)(void*, int) = nullptr;
  void* argument_ = nullptr;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<int> arrived_{0};
  std::vector<std::thread> workers_;
};

// Units of work shared out before they start: each thread takes from its own share first and then helps the others, so
// that a core lent to another process does not hold up the step. Who does a unit changes nothing in its result.
class Shares {
 public:
  explicit Shares(int threads) : next_(threads) {}
  void reset(int thread) { next_[thread].unit.store(0, std::memory_order_relaxed); }

  // work(owner, first, last) over disjoint ranges that cover 0..size(owner) of every owner.
  template <class Size, class Work>
  void take(int thread, int grain, Size size, Work work) {
    const int threads = static_cast<int>(next_.size());
    for (int i = 0; i < threads; i++) {
      const int owner = (thread + i) % threads, end = size(owner);
      for (;;) {
        const int unit = next_[owner].unit.fetch_add(grain, std::memory_order_relaxed);
        if (unit >= end) break;
        work(owner, unit, unit + grain < end ? unit + grain : end);
      }
    }
  }

 private:
  struct alignas(64) Counter {
    std::atomic<int> unit{0};
  };
  std::vector<Counter> next_;
};

}  // namespace pool
