// Memory in huge pages: with 4 KiB pages the weights stream at half the speed, because every page costs a walk.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>

class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes) {
    if (bytes == 0) return;
    mapped_ = bytes + HUGE;
    void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(p);
    const size_t start = reinterpret_cast<size_t>(base_);
    data_ = base_ + ((HUGE - start % HUGE) % HUGE);
#ifdef MADV_HUGEPAGE
    madvise(data_, bytes, MADV_HUGEPAGE);  // advice: a kernel without huge pages is slower, not wrong
#endif
  }
  ~Arena() {
    if (base_) munmap(base_, mapped_);
  }
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }

  // Zero-filled, 2 MiB aligned.
  char* data() const { return data_; }

 private:
  static constexpr size_t HUGE = size_t{2} << 20;
  void swap(Arena& other) noexcept {
    char *b = base_, *d = data_;
    const size_t m = mapped_;
    base_ = other.base_, data_ = other.data_, mapped_ = other.mapped_;
    other.base_ = b, other.data_ = d, other.mapped_ = m;
  }
  char *base_ = nullptr, *data_ = nullptr;
  size_t mapped_ = 0;
};

constexpr size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
