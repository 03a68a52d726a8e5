// Threads that work on one step together. A brief spin, then sleep, so that an idle engine costs nothing and a busy
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
template <class Word, class Idle>
inline void await_change(const std::atomic<Word>& word, Word seen, Idle idle) {
  const auto spins = [&] {
    for (int i = 0; i < 32; i++) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      idle();
    }
    return false;
  };
  if (spins()) return;  // mostly; reading the clock would take longer
  const auto deadline = std::chrono::steady_clock::now() + SPIN;
  do {
    if (spins()) return;
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

// Threads that help the caller with a job. A helper that the operating system has not scheduled is not waited for: it
// finds the job further on, or over.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; i++) helpers_.emplace_back([this, i] { serve(i); });
  }
  ~Pool() {
    stopping_.store(true, std::memory_order_relaxed);
    call();
    for (std::thread& helper : helpers_) helper.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls work(argument, thread) on the caller as thread 0 and on those helpers that come before it returns.
  void run(void (*work)(void*, int), void* argument) {
    work_ = work, argument_ = argument;
    open_.store(true);
    call();
    work(argument, 0);
    open_.store(false);
    for (uint32_t inside = inside_.load(); inside != 0; inside = inside_.load()) {
      await_change(inside_, inside, [] { lanes::relax(); });
    }
  }

 private:
  void call() {
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }
  void serve(int index) {
    for (uint32_t seen = 0;;) {
      await_change(epoch_, seen, [] { lanes::relax(); });
      seen = epoch_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_relaxed)) return;
      // Either the caller sees us inside and waits, or we see that it has closed the door.
      inside_.fetch_add(1);
      if (open_.load()) work_(argument_, index);
      if (inside_.fetch_sub(1) == 1) inside_.notify_all();
    }
  }

  void (*work_)(void*, int) = nullptr;
  void* argument_ = nullptr;
  std::atomic<bool> stopping_{false}, open_{false};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<uint32_t> inside_{0};
  std::vector<std::thread> helpers_;
};

// The phases of a job: each is a number of units, and is over when all are done, by whomever. So a thread that is
// taken away between two units holds up nobody; one that is taken away inside a unit holds up that unit.
//
// Counters carry the number of their phase above the count and start anew with it: whoever comes late sees a later number
// and moves on. 42 bits of phases last for a year of steps at full speed.
class Phases {
 public:
  explicit Phases(int owners) : next_(owners) {}

  uint64_t current() const { return phase_.load(std::memory_order_acquire); }

  // Takes up to `grain` of an owner's `size` units in this phase: the first one, or -1 when none are left.
  int take(uint64_t phase, int owner, int grain, int size) {
    std::atomic<uint64_t>& counter = next_[owner].value;
    uint64_t seen = counter.load(std::memory_order_relaxed);
    for (;;) {
      const int unit = seen >> BITS < phase ? 0 : static_cast<int>(seen & UNITS);
      if (seen >> BITS > phase || unit >= size) return -1;
      if (counter.compare_exchange_weak(seen, pack(phase, unit + grain), std::memory_order_relaxed)) return unit;
    }
  }

  // Says that `units` of the phase's `total` are done, and waits for the others.
  template <class Idle>
  void finish(uint64_t phase, int units, int total, Idle idle) {
    if (total == 0 || (units > 0 && add(phase, units) == total)) {
      advance(phase);
    } else {
      while (current() == phase) await_change(phase_, phase, idle);
    }
  }

 private:
  static constexpr int BITS = 22;
  static constexpr uint64_t UNITS = (uint64_t{1} << BITS) - 1;
  static uint64_t pack(uint64_t phase, int units) { return phase << BITS | static_cast<uint64_t>(units); }

  int add(uint64_t phase, int units) {
    uint64_t seen = done_.load(std::memory_order_relaxed), sum;
    do {
      sum = pack(phase, units + (seen >> BITS == phase ? static_cast<int>(seen & UNITS) : 0));
    } while (!done_.compare_exchange_weak(seen, sum, std::memory_order_acq_rel));
    return static_cast<int>(sum & UNITS);
  }
  void advance(uint64_t phase) {
    if (phase_.compare_exchange_strong(phase, phase + 1, std::memory_order_acq_rel)) phase_.notify_all();
  }

  struct alignas(64) Counter {
    std::atomic<uint64_t> value{0};
  };
  std::vector<Counter> next_;
  alignas(64) std::atomic<uint64_t> done_{0};
  alignas(64) std::atomic<uint64_t> phase_{1};
};

}  // namespace pool
