// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How one team of a device's kernel gets the values that other teams have computed. It takes one trip through memory,
/// because each word of a value is stored together with a mark that it is there, in one store of 8 bytes. So no fence
/// and no counter is needed to say that the value can be read.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/zeroed_words.hpp>

#include <cstdint>
#include <cstring>

namespace prumo::detail {

/// One half of the word is a part of a value. The other half is 0 until that part is there.
using published_word = unsigned long long;

/// Whether no value that a team publishes has 8 bytes that are all 0. Such a value is its own mark.
template <class Value>
inline constexpr bool is_its_own_mark = false;

/// The number of words for one value.
template <class Value>
inline constexpr int words_of_published = is_its_own_mark<Value> ? 1 : static_cast<int>((sizeof(Value) + 3) / 4);

/// The words that publish a value.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void write_published(const Value& value,
                                                 published_word (&words)[words_of_published<Value>]) {
  if constexpr (is_its_own_mark<Value>) {
    static_assert(sizeof(Value) == sizeof(published_word));
    memcpy(words, &value, sizeof(Value));
  } else {
    constexpr int count = words_of_published<Value>;
    std::uint32_t parts[count] = {};
    memcpy(parts, &value, sizeof(Value));
    PRUMO_UNROLL
    for (int i = 0; i < count; ++i) words[i] = published_word{parts[i]} << 32 | 1u;
  }
}

/// The value that such words hold.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION Value read_published(const published_word (&words)[words_of_published<Value>]) {
  Value value;
  if constexpr (is_its_own_mark<Value>) {
    memcpy(&value, words, sizeof(Value));
  } else {
    constexpr int count = words_of_published<Value>;
    std::uint32_t parts[count];
    PRUMO_UNROLL
    for (int i = 0; i < count; ++i) parts[i] = static_cast<std::uint32_t>(words[i] >> 32);
    memcpy(&value, parts, sizeof(Value));
  }
  return value;
}

/// An array is cut into at most this many parts, each with a value of up to 16 bytes. Each row of several parts may add
/// one more, so there are always fewer than twice this number.
inline constexpr std::int64_t most_parts_of_an_array = 512;
inline constexpr std::int64_t published_words_of_a_context = 2 * most_parts_of_an_array * 4;

struct published_words {
  using word = published_word;
  static constexpr std::int64_t count = published_words_of_a_context;
  static constexpr const char* label = "prumo::published_words";
};

/// The words of a context in which teams publish values. The team that takes the values clears the words.
template <class Exec>
published_word* published_words_of(context<Exec>& ctx) {
  return zeroed_words<Exec, published_words>::of(ctx);
}

/// \name Single accesses of 8 bytes to the memory that all teams share
/// desul's atomic load and store are not used, because they are loops of comparing and swapping. On CUDA a volatile
/// access is a relaxed one (PTX ISA, memory consistency model, "Volatile Operations").
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
  published_word found[count];
  write_published(value, found);
  PRUMO_UNROLL
  for (int i = 0; i < count; ++i) store_shared(words + i, found[i]);
}

/// Waits until the values `first`, `first + step`, ... below `count` are there, and reads them. There must be at least
/// one and at most Most of them.
///
/// In a kernel that launch_ordered_teams() launched, a team may only wait for teams of lower rank: these teams have
/// started, and none of them waits for this one. In a kernel that try_launch_resident_teams() launched, a team may wait
/// for any other team.
template <int Most, class Value>
KOKKOS_FORCEINLINE_FUNCTION void wait_for_published(const published_word* words, int first, int step, int count,
                                                    Value (&values)[Most]) {
  constexpr int of_value = words_of_published<Value>;
  published_word found[Most][of_value];
  bool all_there = false;
  while (!all_there) {
    // All loads come before the first comparison, because together they take as long as one.
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
  for (int i = 0; i < Most; ++i) values[i] = read_published<Value>(found[i]);
}

/// The same, for the only thread that takes these values: it sets their words back to 0 for the next kernel, which runs
/// after this one.
template <int Most, class Value>
KOKKOS_FORCEINLINE_FUNCTION void take_published(published_word* words, int first, int step, int count,
                                                Value (&values)[Most]) {
  constexpr int of_value = words_of_published<Value>;
  wait_for_published(words, first, step, count, values);
  PRUMO_UNROLL
  for (int i = 0; i < Most; ++i) {
    PRUMO_UNROLL
    for (int part = 0; part < of_value; ++part) {
      if (first + i * step < count) words[(first + i * step) * of_value + part] = 0;
    }
  }
}

/// Sets the words that several teams have waited for back to 0, when the last team calls. The first exchange_threads
/// threads of each team call, after the team has met at a barrier behind its waiting. `arrivals` is a counter that is 0
/// before the kernel and after it.
///
/// Relaxed increments will do. A team increments the counter when it has seen what it waited for, so no team waits any
/// longer when the last one clears the words, and what the words were is no longer of interest.
KOKKOS_FORCEINLINE_FUNCTION void clear_published_as_last(published_word* words, int count, unsigned* arrivals,
                                                         int teams, int thread) {
  if (thread >= exchange_threads) return;
  unsigned before = 0;
  if (thread == 0) {
    before = desul::atomic_fetch_add(arrivals, 1u, desul::MemoryOrderRelaxed(), desul::MemoryScopeDevice());
  }
  before = join_neighbours(exchange_threads, before, [](unsigned a, unsigned b) { return a + b; });
  if (before + 1 != static_cast<unsigned>(teams)) return;
  if (thread == 0) *arrivals = 0;
  for (int which = thread; which < count; which += exchange_threads) words[which] = 0;
}

/// Joins the published values that `Group` threads of a team take, `Most` by each thread, with the thread's own value
/// `found`.
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

/// The joined value of all parts of a row. It is valid in the first thread of the team that computed the last part.
/// `own` is the value of that part. The other teams, at most most_parts_of_an_array, published theirs at `words` in
/// order. Join is commutative. All threads of the team must call.
template <int Threads, class Member, class Value, class Join>
KOKKOS_FORCEINLINE_FUNCTION Value join_published(const Member& member, join_scratch<Value>& scratch,
                                                 published_word* words, std::int64_t parts, const Value& identity,
                                                 Value own, const Join& join) {
  const int others = static_cast<int>(parts) - 1;
  const Value found = member.team_rank() == 0 ? own : identity;
  // A few values fit into registers of threads that can read each other's registers. These need no barrier.
  constexpr int few = words_of_published<Value> == 1 ? 8 : 4;
  if (others <= few * exchange_threads) {
    return join_published_by<few, exchange_threads>(member, scratch, words, others, found, join);
  }
  constexpr int each = static_cast<int>((most_parts_of_an_array + Threads - 1) / Threads);
  return join_published_by<each, Threads>(member, scratch, words, others, found, join);
}

}  // namespace prumo::detail
