// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores that go past the caches. An ordinary store first reads the line that it is about to overwrite. If the output
/// cannot stay in the cache anyway, that read is a third or half of all traffic.

#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace prumo::detail {

/// The alignment that stream_bytes() wants, and the unit of its length: a cache line.
inline constexpr std::size_t streaming_unit = 64;

/// The bytes of the last-level cache of this process; 32 MiB if the system does not say.
std::size_t last_level_cache_bytes();

/// Whether the arrays of an operation come from memory: they, or what the program touches between two calls, are larger
/// than the caches. `footprint_bytes` is the size of the arrays; `working_set` is the number from
/// context::set_working_set(), or 0.
bool exceeds_caches(std::size_t footprint_bytes, std::size_t working_set);

/// Whether an operation with such arrays should write past the caches. For up to `few_bytes`, the wait for memory at
/// the end of a call costs more time than streaming saves.
bool should_stream(std::size_t footprint_bytes, std::size_t working_set, std::size_t few_bytes = 0);

inline namespace PRUMO_INSTRUCTION_SET {

/// Whether stores past the caches gain time only if many whole lines follow each other. This is so on a Zen 4: it takes
/// longer for short rows, and for rows that begin or end within a line.
#if defined(__AVX512F__)
inline constexpr bool streams_few_lines_slowly = compiled_for_zen;
#else
inline constexpr bool streams_few_lines_slowly = false;
#endif

#if defined(__SSE2__)

/// Whether stores past the cache exist here. Otherwise stream_bytes() makes ordinary copies.
inline constexpr bool has_streaming_stores = true;

/// Vectors of 16, 32 and 64 bytes, or the widest that there are. Types and functions are built into compilers,
/// because users' programs include this file, and the header of intrinsics has two thousand macros.
typedef long long streamed_16_bytes __attribute__((vector_size(16)));
#if defined(__AVX__)
typedef long long streamed_32_bytes __attribute__((vector_size(32)));
#else
using streamed_32_bytes = streamed_16_bytes;
#endif
#if defined(__AVX512F__)
typedef long long streamed_64_bytes __attribute__((vector_size(64)));
#else
using streamed_64_bytes = streamed_32_bytes;
#endif

#if defined(__clang__)
template <class Vector>
void stream_vector(Vector* to, Vector value) {
  __builtin_nontemporal_store(value, to);
}
#else
inline void stream_vector(streamed_16_bytes* to, streamed_16_bytes value) { __builtin_ia32_movntdq(to, value); }
#if defined(__AVX__)
inline void stream_vector(streamed_32_bytes* to, streamed_32_bytes value) { __builtin_ia32_movntdq256(to, value); }
#endif
#if defined(__AVX512F__)
inline void stream_vector(streamed_64_bytes* to, streamed_64_bytes value) { __builtin_ia32_movntdq512(to, value); }
#endif
#endif

/// Copies `bytes`, a multiple of the vector's, from anywhere to memory that is aligned for it, past the caches.
template <class Vector>
[[gnu::always_inline]] inline void stream_vectors(char* to, const char* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Vector)) {
    Vector value;
    std::memcpy(&value, from + at, sizeof(value));
    stream_vector(reinterpret_cast<Vector*>(to + at), value);
  }
}

#else
inline constexpr bool has_streaming_stores = false;

template <class Vector>
void stream_vector(Vector* to, Vector value) {
  std::memcpy(to, &value, sizeof(value));
}
#endif

/// Copies `bytes` (a multiple of streaming_unit) from an aligned buffer to aligned memory, past the caches. It loads
/// parts of `Part` bytes: no more than what was stored there at a time just before.
template <std::size_t Part = streaming_unit>
void stream_bytes(void* destination, const void* source, std::size_t bytes) {
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
#if defined(__SSE2__)
  if constexpr (Part >= 64) {
    stream_vectors<streamed_64_bytes>(to, from, bytes);
  } else if constexpr (Part >= 32) {
    stream_vectors<streamed_32_bytes>(to, from, bytes);
  } else {
    stream_vectors<streamed_16_bytes>(to, from, bytes);
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Copies 64 bytes from anywhere to a cache line, past the caches. It loads parts of 32 bytes: if the source is not
/// aligned, every second one crosses a line, while a load of 64 bytes always would.
inline void stream_line(void* destination, const void* source) {
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
#if defined(__SSE2__)
  stream_vectors<streamed_32_bytes>(to, from, streaming_unit);
#else
  std::memcpy(to, from, streaming_unit);
#endif
}

/// Copies words from anywhere to anywhere. Those that fill whole cache lines of the target go past the caches. Before
/// each such line it calls beside().
template <class Word, class Beside>
void stream_run(Word* to, const Word* from, std::int64_t count, const Beside& beside) {
  constexpr auto line = static_cast<std::int64_t>(streaming_unit / sizeof(Word));
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % streaming_unit / sizeof(Word));
  std::int64_t at = beyond == 0 ? 0 : std::min(count, line - beyond);
  if (at > 0) std::memcpy(to, from, static_cast<std::size_t>(at) * sizeof(Word));
  for (; at + line <= count; at += line) {
    beside();
    stream_line(to + at, from + at);
  }
  if (at < count) std::memcpy(to + at, from + at, static_cast<std::size_t>(count - at) * sizeof(Word));
}
template <class Word>
void stream_run(Word* to, const Word* from, std::int64_t count) {
  stream_run(to, from, count, [] {});
}

/// Stores runs of words that follow each other in memory, past the caches. A line that two runs share is stored when
/// the second one comes. Stored in two parts, it would be read from memory first, which took 20 to 36 ns on a Zen 5.
class streamed_sequence {
 public:
  /// Stores a run. If it does not begin where the run before ended, a new sequence begins.
  template <class Word>
  void append(Word* to, const Word* from, std::int64_t count) {
    static_assert(streaming_unit % sizeof(Word) == 0);
    append_bytes(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from),
                 static_cast<std::size_t>(count) * sizeof(Word));
  }

  /// Stores what is left of the last line.
  void finish() {
    if (held_bytes_ > 0) std::memcpy(end_ - held_bytes_, held_, held_bytes_);
    held_bytes_ = 0;
  }

 private:
  void append_bytes(char* to, const char* from, std::size_t bytes) {
    if (bytes == 0) return;
    if (to != end_) finish();
    const std::size_t of_line = reinterpret_cast<std::uintptr_t>(to) % streaming_unit;
    std::size_t head = of_line == 0 ? 0 : std::min(bytes, streaming_unit - of_line);
    if (held_bytes_ == of_line && head > 0) {
      std::memcpy(held_ + held_bytes_, from, head);
      held_bytes_ += head;
      if (held_bytes_ == streaming_unit) {
        stream_line(to + head - streaming_unit, held_);
        held_bytes_ = 0;
      }
    } else {
      std::memcpy(to, from, head);
    }
    for (; head + streaming_unit <= bytes; head += streaming_unit) stream_line(to + head, from + head);
    if (head < bytes) {
      held_bytes_ = bytes - head;
      std::memcpy(held_, from + head, held_bytes_);
    }
    end_ = to + bytes;
  }

  alignas(streaming_unit) char held_[streaming_unit] = {};
  std::size_t held_bytes_ = 0;  ///< the beginning of the last line
  char* end_ = nullptr;
};

/// Makes the streamed stores of this thread visible before its later stores. One is needed after the last
/// stream_bytes() of a kernel's block: the barrier that ends a parallel region need not order them.
inline void streaming_fence() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
