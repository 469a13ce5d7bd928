// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product on a device. The threads of a team share tiles of A and B in scratch memory, and each holds a
/// block of sums in registers.

#include "gemm_entries.hpp"
#include "gemm_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/team_kernel.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// C = alpha A B + beta C for k > 0, or P = alpha A B in the compute type for a later pass. A team of Across x Across
/// threads computes a square tile of C, and each thread PerThread x PerThread entries of it. These are blocks of four
/// rows by four columns, because scratch memory is read in packs of four. While the products of one step are added, the
/// elements of the next step are loaded into registers. Scratch memory has both steps, so that a step needs one
/// barrier.
template <class T, int PerThread, int Across = 16>
class portable_gemm_device_kernel {
  using C = compute_t<T>;
  static constexpr int pack_elements = 4;
  using pack = detail::device_pack<T, pack_elements>;
  using scratch_pack = detail::device_pack<C, pack_elements>;
  static_assert(PerThread % pack_elements == 0);

  static constexpr int threads_across = Across;
  static_assert(Across % 8 == 0, "a warp is a block of four threads by eight");
  static constexpr int tile = threads_across * PerThread;
  static constexpr int threads = threads_across * threads_across;
  /// The depth of a step: each thread loads one pack of A and one of B.
  static constexpr int step = threads * pack_elements / tile;
  /// With one more pack in a row, transposing stores go to different banks of scratch memory.
  static constexpr int pitch = tile + pack_elements;
  static constexpr int buffer_elements = step * pitch;

 public:
  static constexpr int tile_extent = tile;
  static constexpr int most_threads = threads;
  /// Without this limit, compilers use so many registers that only one team fits on a multiprocessor, which then waits.
  static constexpr int resident_teams = (sizeof(C) * PerThread > 32 ? 1 : 2) * (256 / threads);

  /// `product` is the memory for P, row by row and without gaps. Without it the sums go to C.
  explicit portable_gemm_device_kernel(const gemm_problem<T>& problem, C* product = nullptr)
      : problem_(problem),
        product_(product),
        row_tiles_((problem.m + tile - 1) / tile),
        column_tiles_((problem.n + tile - 1) / tile),
        form_(choose_form(problem.alpha, problem.beta)),
        a_(problem.a.data, problem.a.row_stride, problem.a.column_stride, problem.a.batch_stride),
        b_(problem.b.data, problem.b.column_stride, problem.b.row_stride, problem.b.batch_stride) {}

  std::int64_t blocks() const { return row_tiles_ * column_tiles_ * problem_.batch; }
  static constexpr std::int64_t blocks_per_team() { return 1; }
  static constexpr int team_threads() { return threads; }
  static constexpr std::size_t scratch_bytes() { return sizeof(C) * 4 * buffer_elements + sizeof(scratch_pack); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    // Four buffers, in packs of four.
    C* const shared = reinterpret_cast<C*>(detail::team_scratch_array<scratch_pack>(member, buffer_elements));
    const std::int64_t count = row_tiles_ * column_tiles_ * problem_.batch;
    for (std::int64_t index = member.league_rank(); index < count; index += member.league_size()) {
      compute_tile(member, index, shared);
    }
  }

 private:
  /// How an operand is read. Its width is along rows of A or columns of B, and its depth is along the sums.
  struct operand {
    operand(const T* data, std::int64_t along_width, std::int64_t along_depth, std::int64_t batch_stride)
        : width_stride(along_width),
          depth_stride(along_depth),
          by_depth(along_depth == 1),
          packs((along_width == 1 || along_depth == 1) &&
                is_pack_aligned(data, along_width, along_depth, batch_stride)) {}

    static bool is_pack_aligned(const T* data, std::int64_t along_width, std::int64_t along_depth,
                                std::int64_t batch_stride) {
      const std::int64_t other = along_depth == 1 ? along_width : along_depth;
      return reinterpret_cast<std::uintptr_t>(data) % sizeof(pack) == 0 && other % pack_elements == 0 &&
             batch_stride % pack_elements == 0;
    }

    std::int64_t width_stride;
    std::int64_t depth_stride;
    bool by_depth;  ///< the elements of a pack follow each other along the depth; otherwise along the width
    bool packs;     ///< a pack can be loaded at once
  };

  /// The place of a thread's pack in a tile of an operand.
  struct place {
    int width, depth;

    KOKKOS_FORCEINLINE_FUNCTION place(const operand& of, int thread)
        : width(of.by_depth ? thread / (step / pack_elements) : thread % (tile / pack_elements) * pack_elements),
          depth(of.by_depth ? thread % (step / pack_elements) * pack_elements : thread / (tile / pack_elements)) {}
  };

  template <class Member>
  KOKKOS_FUNCTION void compute_tile(const Member& member, std::int64_t index, C* shared) const {
    const std::int64_t batch = index / (row_tiles_ * column_tiles_);
    const std::int64_t within = index % (row_tiles_ * column_tiles_);
    const std::int64_t row = within % row_tiles_ * tile;
    const std::int64_t column = within / row_tiles_ * tile;
    const std::int64_t rows = problem_.m - row;
    const std::int64_t columns = problem_.n - column;
    const int thread = member.team_rank();
    const place at_a(a_, thread);
    const place at_b(b_, thread);
    const T* a = problem_.a.data + batch * problem_.a.batch_stride + (row + at_a.width) * a_.width_stride +
                 at_a.depth * a_.depth_stride;
    const T* b = problem_.b.data + batch * problem_.b.batch_stride + (column + at_b.width) * b_.width_stride +
                 at_b.depth * b_.depth_stride;
    // Threads of a warp form a block of four by eight, which reads the fewest different words of scratch memory.
    constexpr int warps_across = threads_across / 8;
    const int thread_row = thread / 32 / warps_across * 4 + thread % 32 / 8;
    const int thread_column = thread / 32 % warps_across * 8 + thread % 8;

    C sums[PerThread][PerThread] = {};
    pack next_a = fetch(a_, at_a, a, rows, problem_.k);
    pack next_b = fetch(b_, at_b, b, columns, problem_.k);
    member.team_barrier();  // the tile before may still be read
    put(a_, at_a, shared, next_a);
    put(b_, at_b, shared + buffer_elements, next_b);
    member.team_barrier();
    int buffer = 0;
    for (std::int64_t begin = step; begin < problem_.k + step; begin += step) {
      const bool is_last = begin >= problem_.k;
      if (!is_last) {
        a += step * a_.depth_stride;
        b += step * b_.depth_stride;
        next_a = fetch(a_, at_a, a, rows, problem_.k - begin);
        next_b = fetch(b_, at_b, b, columns, problem_.k - begin);
      }
      const C* const from = shared + buffer * 2 * buffer_elements;
      multiply(from + thread_row * pack_elements, from + buffer_elements + thread_column * pack_elements, sums);
      if (!is_last) {
        buffer ^= 1;
        C* const to = shared + buffer * 2 * buffer_elements;
        put(a_, at_a, to, next_a);
        put(b_, at_b, to + buffer_elements, next_b);
        member.team_barrier();
      }
    }

    if constexpr (sizeof(T) == 2) {
      if (product_ != nullptr) {
        C* const product = product_ + (batch * problem_.m + row) * problem_.n + column;
        return for_each_entry(sums, thread_row, thread_column, rows, columns,
                              write_product{C(problem_.alpha), product, problem_.n});
      }
    }
    T* const c = problem_.c.data + batch * problem_.c.batch_stride + row * problem_.c.row_stride +
                 column * problem_.c.column_stride;
    for_each_entry(
        sums, thread_row, thread_column, rows, columns,
        write_result{C(problem_.alpha), C(problem_.beta), form_, c, problem_.c.row_stride, problem_.c.column_stride});
  }

  /// A thread's pack of a tile with `width` x `depth` elements. Beyond these it has zeros.
  KOKKOS_FORCEINLINE_FUNCTION pack fetch(const operand& of, const place& at, const T* from, std::int64_t width,
                                         std::int64_t depth) const {
    const int wide = of.by_depth ? 1 : pack_elements;
    const int deep = of.by_depth ? pack_elements : 1;
    if (of.packs && at.width + wide <= width && at.depth + deep <= depth) return *reinterpret_cast<const pack*>(from);
    pack values;
    PRUMO_UNROLL
    for (int i = 0; i < pack_elements; ++i) {
      const int w = of.by_depth ? 0 : i;
      const int d = of.by_depth ? i : 0;
      const bool inside = at.width + w < width && at.depth + d < depth;
      values.values[i] = inside ? from[w * of.width_stride + d * of.depth_stride] : static_cast<T>(C(0));
    }
    return values;
  }

  KOKKOS_FORCEINLINE_FUNCTION static void put(const operand& of, const place& at, C* shared, const pack& values) {
    C* const to = shared + at.depth * pitch + at.width;
    if (of.by_depth) {
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i)
        to[static_cast<std::ptrdiff_t>(i * pitch)] = static_cast<C>(values.values[i]);
    } else {
      scratch_pack converted;
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) converted.values[i] = static_cast<C>(values.values[i]);
      *reinterpret_cast<scratch_pack*>(to) = converted;
    }
  }

  /// Adds the products of one step.
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(const C* shared_a, const C* shared_b,
                                                   C (&sums)[PerThread][PerThread]) {
    PRUMO_UNROLL
    for (int p = 0; p < step; ++p) {
      C left[PerThread];
      C right[PerThread];
      read(shared_a + p * pitch, left);
      read(shared_b + p * pitch, right);
      PRUMO_UNROLL
      for (int i = 0; i < PerThread; ++i) {
        PRUMO_UNROLL
        for (int j = 0; j < PerThread; ++j) sums[i][j] = prumo::fma(left[i], right[j], sums[i][j]);
      }
    }
  }

  /// A thread's rows or columns. They are packs, whose distance is that of all packs of the threads across.
  KOKKOS_FORCEINLINE_FUNCTION static void read(const C* shared, C (&values)[PerThread]) {
    PRUMO_UNROLL
    for (int block = 0; block < PerThread / pack_elements; ++block) {
      const auto& from = *reinterpret_cast<const scratch_pack*>(shared + block * threads_across * pack_elements);
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) values[block * pack_elements + i] = from.values[i];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static int place_of(int thread, int i) {
    return (i / pack_elements * threads_across + thread) * pack_elements + i % pack_elements;
  }

  struct write_product {
    C alpha;
    C* product;
    std::int64_t row_stride;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t row, std::int64_t column, C sum) const {
      product[row * row_stride + column] = alpha * sum;
    }
  };

  struct write_result {
    C alpha;
    C beta;
    scaled_form form;
    T* c;
    std::int64_t row_stride;
    std::int64_t column_stride;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t row, std::int64_t column, C sum) const {
      write_entry_by<T>(form, alpha, beta, sum, c[row * row_stride + column * column_stride]);
    }
  };

  template <class Write>
  KOKKOS_FUNCTION static void for_each_entry(const C (&sums)[PerThread][PerThread], int thread_row, int thread_column,
                                             std::int64_t rows, std::int64_t columns, const Write& write) {
    PRUMO_UNROLL
    for (int i = 0; i < PerThread; ++i) {
      PRUMO_UNROLL
      for (int j = 0; j < PerThread; ++j) {
        const std::int64_t at_row = place_of(thread_row, i);
        const std::int64_t at_column = place_of(thread_column, j);
        if (at_row < rows && at_column < columns) write(at_row, at_column, sums[i][j]);
      }
    }
  }

  gemm_problem<T> problem_;
  C* product_;
  std::int64_t row_tiles_;
  std::int64_t column_tiles_;
  scaled_form form_;
  operand a_;
  operand b_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
