// page_allocator.hpp - memory that goes back to the system with its owner. Private to transport/.
//
// What malloc() takes back it may keep: once blocks of some megabytes have been freed, later ones
// come from the heap, where a small block behind them holds all of them. A message that a client
// has begun and never completes would cost its server that much for good.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <string>

namespace holon::transport {

// Blocks from kMapped bytes on are mappings of their own.
template <class T>
struct PageAllocator {
  using value_type = T;
  static constexpr std::size_t kMapped = std::size_t{1} << 20;

  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {
  }  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes < kMapped) return static_cast<T*>(::operator new(bytes));
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes < kMapped)
      ::operator delete(at);
    else
      munmap(at, bytes);
  }
  bool operator==(const PageAllocator&) const = default;
};

using InBytes = std::basic_string<char, std::char_traits<char>, PageAllocator<char>>;

}  // namespace holon::transport
