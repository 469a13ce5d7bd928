// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of cooperating threads on a device have in common: how a row is shared out, loads of 16 bytes, and
/// joining of results. The order of joining follows from the shape alone, not from the device's warps.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/types.hpp>

#include <climits>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace prumo::detail {

/// The number of elements of T that a device loads at once.
template <class T>
inline constexpr int device_pack_elements = static_cast<int>(16 / sizeof(T));

/// Neighbouring elements, aligned for one load.
template <class T, int Elements = device_pack_elements<T>>
struct alignas(Elements * sizeof(T)) device_pack {
  T values[Elements];
};

/// Stores a pack at once, to an address aligned for it. An assignment may become a store for each element, if another
/// branch stores some of them or if the compiler takes the target for scratch memory.
template <class T, class Pack>
KOKKOS_FORCEINLINE_FUNCTION void store_pack(T* to, const Pack& pack) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Pack) == sizeof(uint4)) {
    // Bytes of a pack in scratch memory would be loaded one by one.
    const Pack held = pack;
    uint4 bits;
    memcpy(&bits, &held, sizeof(bits));
    __stwb(reinterpret_cast<uint4*>(to), bits);
    return;
  }
#endif
  *reinterpret_cast<Pack*>(to) = pack;
}

/// A pack as the words in which it is loaded. Compilers would keep each element of 16 bits that waits for something in
/// a register of its own.
using pack_words = device_pack<std::uint32_t>;

template <class T>
KOKKOS_FORCEINLINE_FUNCTION device_pack<T> pack_of(const pack_words& words) {
  device_pack<T> result;
  memcpy(&result, &words, sizeof(result));
  return result;
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION pack_words words_of(const device_pack<T>& pack) {
  pack_words result;
  memcpy(&result, &pack, sizeof(result));
  return result;
}

/// The elements of a pack in the type in which they are computed.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void unpack(const pack_words& words, compute_t<T> (&values)[device_pack_elements<T>]) {
  if constexpr (std::is_same_v<T, bf16>) {
    // One instruction each: compilers take two for the upper half of a word.
    PRUMO_UNROLL
    for (int i = 0; i < 4; ++i) {
      values[2 * i] = bit_cast<float>(words.values[i] << 16);
      values[2 * i + 1] = bit_cast<float>(words.values[i] & 0xffff0000u);
    }
  } else {
    const auto pack = pack_of<T>(words);
    PRUMO_UNROLL
    for (int i = 0; i < device_pack_elements<T>; ++i) values[i] = static_cast<compute_t<T>>(pack.values[i]);
  }
}

/// Whether rows of unit stride can be read in packs.
template <class T>
bool can_load_packs(const T* data, std::int64_t row_stride) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(device_pack<T>) == 0 &&
         row_stride % device_pack_elements<T> == 0;
}

/// The smallest power of two that is at least `value`, but not more than `most`, which is a power of two.
constexpr int group_threads(std::int64_t value, int most) {
  int threads = 1;
  while (threads < most && threads < value) threads *= 2;
  return threads;
}

/// The number of neighbouring threads that can read each other's registers. Warps and wavefronts of all devices have
/// this length or a multiple of it.
inline constexpr int exchange_threads = 32;

/// The value of the thread whose rank differs from this thread's in the bit `distance`, a power of two below
/// exchange_threads. All threads of a stretch of exchange_threads must call.
template <class C>
  requires std::is_arithmetic_v<C>
KOKKOS_FORCEINLINE_FUNCTION C value_across(C value, [[maybe_unused]] int distance) {
#if defined(__CUDA_ARCH__)
  return __shfl_xor_sync(0xffffffffu, value, distance);
#elif defined(__HIP_DEVICE_COMPILE__)
  return __shfl_xor(value, distance, exchange_threads);
#else
  return value;  // kernels of teams run on devices only
#endif
}

/// The same in kernels that are tested on hosts, whose members tell it by value_across().
template <class Member, class C>
  requires std::is_arithmetic_v<C>
KOKKOS_FORCEINLINE_FUNCTION C value_across([[maybe_unused]] const Member& member, C value, int distance) {
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  if constexpr (requires { member.value_across(value, distance); }) return member.value_across(value, distance);
#endif
  return value_across(value, distance);
}

/// The value of the thread before this one; that of the first of a stretch of exchange_threads is its own, or any. All
/// threads of a stretch must call. Members that run on hosts tell it by value_before().
template <class Member, class C>
  requires std::is_arithmetic_v<C>
KOKKOS_FORCEINLINE_FUNCTION C value_before([[maybe_unused]] const Member& member, C value) {
#if defined(__CUDA_ARCH__)
  return __shfl_up_sync(0xffffffffu, value, 1);
#elif defined(__HIP_DEVICE_COMPILE__)
  return __shfl_up(value, 1, exchange_threads);
#else
  if constexpr (requires { member.value_before(value); }) return member.value_before(value);
  return value;
#endif
}

/// Scratch memory of a team for join_group(): two halves, each with a value for every exchange_threads threads. Joins
/// use the halves in turns, so that one barrier is enough: before a half is written again, all threads have met at the
/// barrier of the join with the other half, and none still reads the first one.
template <class C>
struct join_scratch {
  C* values = nullptr;
  int half = 0;
  int taken = 0;  ///< where the half of the next join begins

  KOKKOS_FUNCTION static constexpr int elements_for(int threads) {
    return 2 * ((threads + exchange_threads - 1) / exchange_threads);
  }
  static constexpr std::size_t bytes_for(int threads) {
    return static_cast<std::size_t>(elements_for(threads)) * sizeof(C);
  }

  /// The half of this join.
  KOKKOS_FORCEINLINE_FUNCTION C* take() {
    C* const result = values + taken;
    taken = half - taken;
    return result;
  }
};

/// Joins one value of each of `group` neighbouring threads, a power of two up to exchange_threads, in a tree. All of
/// these threads get the result. If the group is larger than exchange_threads, each stretch of exchange_threads is
/// joined by itself. Join is commutative. All threads of a stretch of exchange_threads must call.
template <class C, class Join>
KOKKOS_FORCEINLINE_FUNCTION C join_neighbours(int group, C value, const Join& join) {
  for (int distance = 1; distance < group && distance < exchange_threads; distance *= 2) {
    value = join(value, value_across(value, distance));
  }
  return value;
}

/// The same for groups of any size. All threads of the team must call.
template <class Member, class C, class Join>
KOKKOS_FORCEINLINE_FUNCTION C join_group(const Member& member, join_scratch<C>& scratch, int group, C value,
                                         const Join& join) {
  value = join_neighbours(group, value, join);
  if (group <= exchange_threads) return value;
  const int thread = member.team_rank();
  const int stretches = group / exchange_threads;
  const int lane = thread & (exchange_threads - 1);
  C* const values = scratch.take();
  if (lane == 0) values[thread / exchange_threads] = value;
  member.team_barrier();
  value = values[(thread & ~(group - 1)) / exchange_threads + (lane & (stretches - 1))];
  for (int distance = 1; distance < stretches; distance *= 2) value = join(value, value_across(value, distance));
  return value;
}

/// Waits until the preceding kernels of the stream have ended. Some devices launch a kernel earlier than that. A kernel
/// with `waits_itself` calls this before it reads or writes any memory but its scratch memory. All threads call. If the
/// previous kernel called let_next_kernel_start(), this kernel may read what the previous one does not write before it
/// waits.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION void wait_for_work_before([[maybe_unused]] const Member& member) {
  if constexpr (requires { member.wait_for_kernels_before(); }) member.wait_for_kernels_before();
}

/// Lets the next kernel of the stream start early, if the device can do that: when all teams of this one have called,
/// or ended. It may then read, before wait_for_work_before(), what this kernel does not write.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION void let_next_kernel_start([[maybe_unused]] const Member& member) {
  if constexpr (requires { member.let_next_kernel_start(); }) member.let_next_kernel_start();
}

/// The largest alignment in scratch memory. Packs of four doubles need it.
inline constexpr std::size_t most_scratch_alignment = 32;

/// The scratch memory that a launch asks for. There may be gaps between arrays of different types, and Kokkos' scratch
/// memory is only aligned to 8 bytes.
template <class Exec, class Kernel>
std::size_t scratch_bytes_of(const Kernel& kernel) {
  constexpr std::size_t for_alignment = launches_by_cuda_runtime<Exec> ? 8 : most_scratch_alignment;
  const std::size_t bytes = kernel.scratch_bytes();
  return bytes == 0 ? 0 : bytes + for_alignment;
}

/// Enqueues a kernel of teams. A Kernel has
/// - `most_threads`, the largest number of threads of a team, and `resident_teams`, the number of teams that must fit
///   on a multiprocessor. Both limit its registers: without limits, compilers use so many registers for arrays of
///   values that too few loads are under way.
/// - `team_threads()`, the threads of a team, and `scratch_bytes()`, the bytes of its scratch memory.
/// - `blocks()`, the number of its work items, and `blocks_per_team()`, how many of them a team does at a time.
/// - `waits_itself`: true if the kernel calls wait_for_work_before(). Otherwise that is done before the kernel.
template <class Exec, light_kernel Kernel>
void launch_teams(const Exec& instance, const std::string& label, const Kernel& kernel) {
  if (kernel.blocks() == 0) return;
  const std::int64_t wanted = (kernel.blocks() + kernel.blocks_per_team() - 1) / kernel.blocks_per_team();
  const int teams = static_cast<int>(std::min<std::int64_t>(wanted, INT_MAX));
  const std::size_t scratch_bytes = scratch_bytes_of<Exec>(kernel);
  if constexpr (launches_by_cuda_runtime<Exec>) {
    static_assert(!requires { Kernel::teams_wait_for_each_other; }, "teams that wait need try_launch_resident_teams()");
    launch_team_blocks(instance, label, kernel, teams, scratch_bytes);
  } else {
    using bounds = Kokkos::LaunchBounds<Kernel::most_threads, Kernel::resident_teams>;
    using policy_type = Kokkos::TeamPolicy<Exec, typename bounds_for_compiler<Exec, bounds>::type>;
    const current_device<Exec> device(instance);
    auto policy = policy_type(instance, teams, kernel.team_threads());
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes)));
    launch_by_policy(label, policy, kernel);
  }
}

/// An array of C in the team's scratch memory, after what was taken before.
template <class C, class Member>
KOKKOS_FORCEINLINE_FUNCTION C* team_scratch_array(const Member& member, int elements) {
  static_assert(alignof(C) <= most_scratch_alignment);
  return static_cast<C*>(
      member.team_scratch(0).get_shmem_aligned(static_cast<std::size_t>(elements) * sizeof(C), alignof(C)));
}

/// Scratch for joins, which takes join_scratch<C>::bytes_for(threads) bytes of the team's scratch memory.
template <class C, class Member>
KOKKOS_FORCEINLINE_FUNCTION join_scratch<C> team_join_scratch(const Member& member, int threads) {
  const int elements = join_scratch<C>::elements_for(threads);
  return {team_scratch_array<C>(member, elements), elements / 2, 0};
}

}  // namespace prumo::detail
