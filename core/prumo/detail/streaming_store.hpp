// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores that go past the caches. An ordinary store first reads the line that it is about to overwrite; where the
/// output cannot stay in the cache anyway, that read is a third or half of all traffic.

#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace prumo::detail {

/// The alignment that stream_bytes() wants, and the unit of its length: a cache line.
inline constexpr std::size_t streaming_unit = 64;

/// Bytes of the last-level cache that this process sees; 32 MiB where the system does not tell.
std::size_t last_level_cache_bytes();

/// Whether an operation should write past the caches. `footprint_bytes` is the size of its arrays; `working_set` is
/// what the caller set by context::set_working_set(), or 0.
bool should_stream(std::size_t footprint_bytes, std::size_t working_set);

inline namespace PRUMO_INSTRUCTION_SET {

/// Whether stores past the cache exist here; elsewhere stream_bytes() copies.
#if defined(__SSE2__)
inline constexpr bool has_streaming_stores = true;
#else
inline constexpr bool has_streaming_stores = false;
#endif

/// Copies `bytes` (a multiple of streaming_unit) from an aligned buffer to aligned memory, past the caches.
inline void stream_bytes(void* destination, const void* source, std::size_t bytes) {
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
#if defined(__AVX512F__)
  for (std::size_t at = 0; at < bytes; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_load_si512(from + at));
#elif defined(__AVX__)
  for (std::size_t at = 0; at < bytes; at += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + at)));
  }
#elif defined(__SSE2__)
  for (std::size_t at = 0; at < bytes; at += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Copies a cache line's worth from anywhere to a cache line, past the caches. In parts of 32 bytes, of which one in
/// two crosses a line where the source is not aligned; one of 64 always would.
inline void stream_line(void* destination, const void* source) {
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
#if defined(__AVX__)
  for (std::size_t at = 0; at < streaming_unit; at += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
  }
#elif defined(__SSE2__)
  for (std::size_t at = 0; at < streaming_unit; at += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
#else
  std::memcpy(to, from, streaming_unit);
#endif
}

/// Copies words from anywhere to anywhere: the whole cache lines among them past the caches.
template <class Word>
inline void stream_run(Word* to, const Word* from, std::int64_t count) {
  constexpr auto line = static_cast<std::int64_t>(streaming_unit / sizeof(Word));
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % streaming_unit / sizeof(Word));
  std::int64_t at = beyond == 0 ? 0 : std::min(count, line - beyond);
  std::memcpy(to, from, static_cast<std::size_t>(at) * sizeof(Word));
  for (; at + line <= count; at += line) stream_line(to + at, from + at);
  std::memcpy(to + at, from + at, static_cast<std::size_t>(count - at) * sizeof(Word));
}

/// Makes the streamed stores of this thread visible before its later stores. One is needed after the last
/// stream_bytes() of a kernel's block: the barrier that ends a parallel region need not order them.
inline void streaming_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
