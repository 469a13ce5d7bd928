// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product on a device: a team's threads share tiles of A and B in scratch memory, each holds a
/// small block of sums in registers.

#include "gemm_epilogue.hpp"
#include <prumo/backend/gemm.hpp>
#include <prumo/detail/compiler.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// C = alpha A B + beta C for k > 0. A team of `team_threads` threads computes Tile x Tile entries of C, each
/// thread PerThread x PerThread of them, Step products deep at a time.
template <class T, int Tile = 64, int Step = 16, int PerThread = 4>
class portable_gemm_device_kernel {
  using C = compute_t<T>;
  static constexpr int threads_across = Tile / PerThread;
  /// One element more a row keeps transposing stores apart in the banks of scratch memory.
  static constexpr int pitch = Tile + 1;
  static_assert(Tile % PerThread == 0);

 public:
  static constexpr int team_threads = threads_across * threads_across;
  static constexpr std::size_t scratch_bytes = sizeof(C) * 2 * Step * pitch;

  explicit portable_gemm_device_kernel(const gemm_problem<T>& problem)
      : problem_(problem),
        row_tiles_((problem.m + Tile - 1) / Tile),
        column_tiles_((problem.n + Tile - 1) / Tile),
        epilogue_(choose_epilogue(problem)) {}

  std::int64_t tiles() const { return row_tiles_ * column_tiles_ * problem_.batch; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    // A temporary of the size: the function takes references, which a device has none of to a static member.
    C* const shared_a =
        static_cast<C*>(member.team_scratch(0).get_shmem_aligned(std::size_t{scratch_bytes}, alignof(C)));
    C* const shared_b = shared_a + Step * pitch;
    const std::int64_t count = row_tiles_ * column_tiles_ * problem_.batch;
    for (std::int64_t index = member.league_rank(); index < count; index += member.league_size()) {
      compute_tile(member, index, shared_a, shared_b);
    }
  }

 private:
  template <class Member>
  KOKKOS_FUNCTION void compute_tile(const Member& member, std::int64_t index, C* shared_a, C* shared_b) const {
    const std::int64_t batch = index / (row_tiles_ * column_tiles_);
    const std::int64_t within = index % (row_tiles_ * column_tiles_);
    const std::int64_t row = within % row_tiles_ * Tile;
    const std::int64_t column = within / row_tiles_ * Tile;
    const std::int64_t rows = problem_.m - row;
    const std::int64_t columns = problem_.n - column;
    const T* const a = problem_.a.data + batch * problem_.a.batch_stride + row * problem_.a.row_stride;
    const T* const b = problem_.b.data + batch * problem_.b.batch_stride + column * problem_.b.column_stride;
    const int thread_row = member.team_rank() / threads_across;
    const int thread_column = member.team_rank() % threads_across;

    C sums[PerThread][PerThread] = {};
    for (std::int64_t begin = 0; begin < problem_.k; begin += Step) {
      share(member, shared_a, a + begin * problem_.a.column_stride, rows, problem_.k - begin, problem_.a.row_stride,
            problem_.a.column_stride);
      share(member, shared_b, b + begin * problem_.b.row_stride, columns, problem_.k - begin, problem_.b.column_stride,
            problem_.b.row_stride);
      member.team_barrier();
      for (int p = 0; p < Step; ++p) {
        C left[PerThread];
        C right[PerThread];
        // Loops over sums that are not unrolled would keep them in memory.
        PRUMO_UNROLL
        for (int i = 0; i < PerThread; ++i) left[i] = shared_a[p * pitch + thread_row + i * threads_across];
        PRUMO_UNROLL
        for (int j = 0; j < PerThread; ++j) right[j] = shared_b[p * pitch + thread_column + j * threads_across];
        PRUMO_UNROLL
        for (int i = 0; i < PerThread; ++i) {
          PRUMO_UNROLL
          for (int j = 0; j < PerThread; ++j) sums[i][j] = prumo::fma(left[i], right[j], sums[i][j]);
        }
      }
      member.team_barrier();
    }

    T* const c = problem_.c.data + batch * problem_.c.batch_stride + row * problem_.c.row_stride +
                 column * problem_.c.column_stride;
    write_block(c, sums, thread_row, thread_column, rows, columns);
  }

  /// Copies Tile x Step elements, zeros beyond the edges; neighbouring threads read along the dimension of
  /// stride 1.
  template <class Member>
  KOKKOS_FUNCTION void share(const Member& member, C* shared, const T* from, std::int64_t width, std::int64_t depth,
                             std::int64_t along, std::int64_t deep) const {
    for (int element = member.team_rank(); element < Tile * Step; element += member.team_size()) {
      const int w = deep == 1 ? element / Step : element % Tile;
      const int p = deep == 1 ? element % Step : element / Tile;
      shared[p * pitch + w] = w < width && p < depth ? static_cast<C>(from[w * along + p * deep]) : C(0);
    }
  }

  KOKKOS_FUNCTION void write_block(T* c, const C (&sums)[PerThread][PerThread], int thread_row, int thread_column,
                                   std::int64_t rows, std::int64_t columns) const {
    const C alpha = C(problem_.alpha);
    const C beta = C(problem_.beta);
    PRUMO_UNROLL
    for (int i = 0; i < PerThread; ++i) {
      PRUMO_UNROLL
      for (int j = 0; j < PerThread; ++j) {
        const std::int64_t at_row = thread_row + i * threads_across;
        const std::int64_t at_column = thread_column + j * threads_across;
        if (at_row >= rows || at_column >= columns) continue;
        write_entry_by<T>(epilogue_, alpha, beta, sums[i][j],
                          c[at_row * problem_.c.row_stride + at_column * problem_.c.column_stride]);
      }
    }
  }

  gemm_problem<T> problem_;
  std::int64_t row_tiles_;
  std::int64_t column_tiles_;
  gemm_epilogue epilogue_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
