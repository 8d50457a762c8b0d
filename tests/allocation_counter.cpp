// Replaces the global operator new: the library that a call came from tells whose it is.
#include "tests/allocation_counter.h"

#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace viva::test {
namespace {

std::atomic<std::int64_t> viva_count{0}, onednn_count{0}, live_bytes{0};

bool from_onednn(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "dnnl") != nullptr;
}

// Null where there is no memory.
void* counted_or_null(std::size_t size, std::size_t alignment, void* caller) {
  if (size >= kRefusedBytes) return nullptr;
  void* block = nullptr;
  if (posix_memalign(&block, alignment < sizeof(void*) ? sizeof(void*) : alignment, size == 0 ? 1 : size) != 0) {
    return nullptr;
  }
  (from_onednn(caller) ? onednn_count : viva_count).fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  return block;
}

void* counted(std::size_t size, std::size_t alignment, void* caller) {
  void* const block = counted_or_null(size, alignment, caller);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) {
  if (block != nullptr)
    live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  std::free(block);
}

}  // namespace

Allocations allocations() { return {viva_count.load(), onednn_count.load(), live_bytes.load()}; }

}  // namespace viva::test

void* operator new(std::size_t size) { return viva::test::counted(size, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return viva::test::counted(size, 16, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return viva::test::counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return viva::test::counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return viva::test::counted_or_null(size, 16, __builtin_return_address(0));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return viva::test::counted_or_null(size, 16, __builtin_return_address(0));
}
void operator delete(void* block) noexcept { viva::test::release(block); }
void operator delete[](void* block) noexcept { viva::test::release(block); }
void operator delete(void* block, std::size_t) noexcept { viva::test::release(block); }
void operator delete[](void* block, std::size_t) noexcept { viva::test::release(block); }
void operator delete(void* block, std::align_val_t) noexcept { viva::test::release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { viva::test::release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { viva::test::release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { viva::test::release(block); }
