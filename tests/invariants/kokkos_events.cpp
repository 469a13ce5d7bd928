// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_events.hpp"

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <dlfcn.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

std::atomic<std::size_t> heap_allocations{0};

void* counted_allocation(std::size_t bytes, std::size_t alignment) {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    memory = std::malloc(bytes > 0 ? bytes : 1);
  } else if (posix_memalign(&memory, alignment, bytes) != 0) {
    memory = nullptr;
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The forms that the standard's other ones are defined by.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 20011  // nvcc takes every operator new for one that devices call too
#endif
void* operator new(std::size_t bytes) { return counted_allocation(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_allocation(bytes, static_cast<std::size_t>(alignment));
}
// The standard library's own ones would call those above; a sanitizer has its own of each, whose memory is not
// free()'s.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return counted_allocation(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace prumo::tests {
namespace {

kokkos_events* recording = nullptr;

void kernel_begins(const char* label, std::uint32_t device_id, std::uint64_t*) {
  if (recording != nullptr) recording->kernels.push_back({label, device_id});
}

void fence_begins(const char* label, std::uint32_t device_id, std::uint64_t*) {
  if (recording != nullptr) recording->fences.push_back({label, device_id});
}

/// Kokkos 4 tells of an allocation of nothing at each launch of teams on a GPU.
void memory_comes(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
  if (recording != nullptr && bytes > 0) recording->allocations.emplace_back(label);
}

void memory_goes(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t) {
  if (recording != nullptr) recording->deallocations.emplace_back(label);
}

void copy_begins(Kokkos::Tools::SpaceHandle, const char* to, const void*, Kokkos::Tools::SpaceHandle, const char* from,
                 const void*, std::uint64_t) {
  if (recording != nullptr) recording->deep_copies.push_back(std::string(from) + " -> " + to);
}

void region_begins(const char* label) {
  if (recording != nullptr) recording->regions.emplace_back(label);
}

[[maybe_unused]] void parallel_region_begins(unsigned threads) {
  if (recording != nullptr) recording->openmp_threads.push_back(threads);
}

void decline_global_fences(std::uint32_t, Kokkos::Tools::Experimental::ToolSettings* settings) {
  settings->requires_global_fencing = false;
}

}  // namespace

// GCC's parallel regions are calls of this function; the program's own definition comes before the library's.
#if defined(KOKKOS_ENABLE_OPENMP) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  using function = void (*)(void (*)(void*), void*, unsigned, unsigned);
  static const auto actual = reinterpret_cast<function>(dlsym(RTLD_NEXT, "GOMP_parallel"));
  // 0: the number that the calling thread is set to, which is how a BLAS is told.
  parallel_region_begins(threads > 0 ? threads : static_cast<unsigned>(omp_get_max_threads()));
  actual(body, data, threads, flags);
}
#endif

void watch_kokkos() {
  using namespace Kokkos::Tools::Experimental;
  set_request_tool_settings_callback(decline_global_fences);
  set_begin_parallel_for_callback(kernel_begins);
  set_begin_parallel_reduce_callback(kernel_begins);
  set_begin_parallel_scan_callback(kernel_begins);
  set_begin_fence_callback(fence_begins);
  set_allocate_data_callback(memory_comes);
  set_deallocate_data_callback(memory_goes);
  set_begin_deep_copy_callback(copy_begins);
  set_push_region_callback(region_begins);
}

namespace detail {

recording_scope::recording_scope(kokkos_events& target) { recording = &target; }
recording_scope::~recording_scope() { recording = nullptr; }

void begin_counting() {
  Kokkos::Tools::Experimental::pause_tools();
  heap_allocations = 0;
}

std::size_t end_counting() {
  const std::size_t count = heap_allocations;
  Kokkos::Tools::Experimental::resume_tools();
  return count;
}

}  // namespace detail
}  // namespace prumo::tests
