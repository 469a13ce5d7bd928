// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How one team of a device's kernel gets the values that other teams have found, one trip through memory after they
/// were found: every word of a value travels with a mark that it is there, in one store of 8 bytes, so that neither a
/// fence nor a counter has to tell that the value behind it can be read.

#include <prumo/context.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <cstring>

namespace prumo::detail {

/// Half of it is part of a value; the rest is 0 until that part is there.
using published_word = unsigned long long;

/// Words that a value is published in.
template <class Value>
inline constexpr int words_of_published = static_cast<int>((sizeof(Value) + 3) / 4);

/// A value of up to 16 bytes for every part of every row: where an array is cut into at most so many parts, and each
/// row that has several into one more at most, there are fewer than twice as many.
inline constexpr std::int64_t most_parts_of_an_array = 512;
inline constexpr std::int64_t published_words_of_a_context = 2 * most_parts_of_an_array * 4;

struct clear_published_kernel {
  published_word* words;
  static std::int64_t blocks() { return published_words_of_a_context; }
  KOKKOS_FUNCTION void operator()(std::int64_t which) const { words[which] = 0; }
};

/// The words by which teams publish: all 0 between kernels, which the team that takes the values sees to. They belong
/// to a context and to nothing else in it: any operation may write to the workspace, and it moves when it grows.
template <class Exec>
class published_words {
 public:
  /// Those of a context. The first call allocates them.
  static published_word* of(context<Exec>& ctx) {
    return ctx.template attachment<published_words>([&] { return published_words(ctx.instance()); }).words_.data();
  }

 private:
  explicit published_words(const Exec& instance)
      : words_(Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::published_words"),
               published_words_of_a_context) {
    launch_blocks(instance, "prumo::clear_published", clear_published_kernel{words_.data()});
  }

  Kokkos::View<published_word*, typename Exec::memory_space> words_;
};

/// \name Single accesses of 8 bytes that go to the memory all teams share
/// desul's atomic load and store of them are loops of comparing and swapping. CUDA: a volatile access is a relaxed one
/// (PTX ISA, memory consistency model, "Volatile Operations").
/// @{
KOKKOS_FORCEINLINE_FUNCTION published_word load_shared(const published_word* word) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  return *static_cast<const volatile published_word*>(word);
#endif
}
KOKKOS_FORCEINLINE_FUNCTION void store_shared(published_word* word, published_word value) {
#if defined(__HIP_DEVICE_COMPILE__)
  __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  *static_cast<volatile published_word*>(word) = value;
#endif
}
/// @}

/// Publishes a value for one thread of another team to take. One thread calls.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void publish(published_word* words, const Value& value) {
  constexpr int count = words_of_published<Value>;
  std::uint32_t parts[count] = {};
  memcpy(parts, &value, sizeof(Value));
  PRUMO_UNROLL
  for (int i = 0; i < count; ++i) store_shared(words + i, published_word{parts[i]} << 32 | 1u);
}

/// Takes the values `first`, `first + step`, ... below `count`, at most Most of them and one at least, waits until they
/// are there, and leaves the words at 0 for the next kernel, which the order of the instance puts after this one.
///
/// A team may wait only for teams of lower rank. Devices start teams in the order of their ranks (on which the scans of
/// all makers' libraries rely, too), so those have started, and none of them waits for this one.
template <int Most, class Value>
KOKKOS_FORCEINLINE_FUNCTION void take_published(published_word* words, int first, int step, int count,
                                                Value (&values)[Most]) {
  constexpr int of_value = words_of_published<Value>;
  published_word found[Most][of_value];
  bool all_there = false;
  while (!all_there) {
    // All loads before the first comparison: together they take as long as one.
    PRUMO_UNROLL
    for (int i = 0; i < Most; ++i) {
      const int which = first + i * step < count ? first + i * step : first;
      const int place = which * of_value;
      PRUMO_UNROLL
      for (int part = 0; part < of_value; ++part) found[i][part] = load_shared(words + place + part);
    }
    all_there = true;
    PRUMO_UNROLL
    for (int i = 0; i < Most; ++i) {
      PRUMO_UNROLL
      for (int part = 0; part < of_value; ++part) all_there = all_there && found[i][part] != 0;
    }
  }
  PRUMO_UNROLL
  for (int i = 0; i < Most; ++i) {
    std::uint32_t parts[of_value];
    PRUMO_UNROLL
    for (int part = 0; part < of_value; ++part) {
      parts[part] = static_cast<std::uint32_t>(found[i][part] >> 32);
      if (first + i * step < count) words[(first + i * step) * of_value + part] = 0;
    }
    memcpy(&values[i], parts, sizeof(Value));
  }
}

/// What `Most` values a thread amount to, which `Group` threads of a team take; found is what the thread knows itself.
template <int Most, int Group, class Member, class Value, class Join>
KOKKOS_FORCEINLINE_FUNCTION Value join_published_by(const Member& member, join_scratch<Value>& scratch,
                                                    published_word* words, int count, Value found, const Join& join) {
  const int thread = member.team_rank();
  if (thread < Group && thread < count) {
    Value values[Most];
    take_published(words, thread, Group, count, values);
    PRUMO_UNROLL
    for (int i = 0; i < Most; ++i) {
      if (thread + i * Group < count) found = join(found, values[i]);
    }
  }
  return join_group(member, scratch, Group, found, join);
}

/// What all parts of a row amount to, for the first thread of the team that found the last part: `own` is what it
/// found, the others, no more than most_parts_of_an_array, published theirs at `words` in their order. Join is
/// commutative. All threads of the team must call.
template <int Threads, class Member, class Value, class Join>
KOKKOS_FORCEINLINE_FUNCTION Value join_published(const Member& member, join_scratch<Value>& scratch,
                                                 published_word* words, std::int64_t parts, const Value& identity,
                                                 Value own, const Join& join) {
  const int others = static_cast<int>(parts) - 1;
  const Value found = member.team_rank() == 0 ? own : identity;
  // Few are for threads that can read each other's registers, which need no barrier: as many as these have registers
  // for.
  constexpr int few = words_of_published<Value> == 1 ? 8 : 4;
  if (others <= few * exchange_threads) {
    return join_published_by<few, exchange_threads>(member, scratch, words, others, found, join);
  }
  constexpr int each = static_cast<int>((most_parts_of_an_array + Threads - 1) / Threads);
  return join_published_by<each, Threads>(member, scratch, words, others, found, join);
}

}  // namespace prumo::detail
