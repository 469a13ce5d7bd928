// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the direct product of direct_gemm_host.hpp is cut.

#include "direct_sizes.hpp"
#include "gemm_problem.hpp"
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

using prumo::detail::divide_up;
using prumo::detail::round_up;

/// A block is what an iteration computes: some rows and columns of C, in a part of k.
struct direct_blocks {
  std::int64_t rows = 1;        ///< of a block
  std::int64_t columns = 1;     ///< of a block, in whole panels
  std::int64_t row_blocks = 1;  ///< of a matrix
  std::int64_t column_blocks = 1;
  std::int64_t depth = 1;  ///< over which sums stay in registers
  std::int64_t parts = 1;
  std::int64_t part_depth = 1;
  bool copies_b = false;
  bool is_far = false;                 ///< B mostly comes from memory, or from a cache that is about as slow
  bool is_c_far = false;               ///< the second-level caches do not hold C
  bool prefetches_a = false;           ///< A may be far, and its rows follow each other
  bool keeps_sums = false;             ///< in memory, from one block of the depth to the next
  std::int64_t copied_rows_ahead = 0;  ///< how many rows of B ahead copies prefetch; 0: none
  std::int64_t rows_ahead = 0;         ///< the same of tiles of few rows whose sums are kept
  /// Blocks of the same rows follow each other, instead of those of the same columns. So each thread writes rows of its
  /// own: a line that two threads write parts of moves to and fro between their caches.
  bool are_rows_first = false;
  bool has_whole_rows = false;  ///< C is so narrow that tiles write its rows as a whole, and all of B is copied
  /// Whether C goes past the caches. Each block but the first one of its rows then begins with `front` columns that the
  /// block before it has, too, so that both write whole lines only.
  bool streams = false;
  std::int64_t front = 0;

  /// \param may_stream whether C may go past the caches
  /// \param may_write_rows whether tiles may write whole rows of C, because these are sums as they are in registers
  template <class T>
  static direct_blocks of(const gemm_problem<T>& problem, std::int64_t threads, bool may_stream, bool may_write_rows) {
    direct_blocks blocks;
    // More than a first-level cache holds. If more of A is in the next one, a prefetch costs little.
    constexpr std::int64_t near_elements = 65536 / static_cast<std::int64_t>(sizeof(T));
    blocks.copies_b = widens_for_direct<T> || problem.b.column_stride != 1 || has_colliding_rows(problem);
    blocks.is_far = are_far<T>(problem.n * problem.k, threads);
    blocks.is_c_far = problem.m * problem.n * static_cast<std::int64_t>(sizeof(T)) >
                      threads * direct_sizes<compute_t<T>>::cached_bytes;
    blocks.prefetches_a = !widens_for_direct<T> && problem.a.column_stride == 1 && problem.a.row_stride == problem.k &&
                          problem.m * problem.k > near_elements;
    constexpr std::int64_t rows_of_copies = 4;
    if (blocks.copies_b && blocks.is_far && problem.b.column_stride == 1) blocks.copied_rows_ahead = rows_of_copies;
    blocks.choose_parts(problem);
    const bool is_short = problem.k <= longest_in_registers || blocks.is_narrow(problem);
    if (blocks.parts == 1 && is_short && !blocks.is_wide(problem)) {
      blocks.has_whole_rows = may_write_rows && !may_stream && has_short_rows(problem, threads);
      blocks.streams = may_stream;
      blocks.front = may_stream ? line_elements<T> : 0;
      blocks.cut_for_registers(problem, threads);
    } else {
      blocks.cut_for_kept_sums(problem, threads);
    }
    blocks.put_rows_first(problem, threads);
    return blocks;
  }

  /// Elements of a cache line.
  template <class T>
  static constexpr std::int64_t line_elements = 64 / static_cast<std::int64_t>(sizeof(T));

 private:
  static constexpr std::int64_t longest_in_registers = 256;
  static constexpr std::int64_t few_rows = 3;
  /// Of how many products sums are longer if several rows of C read a far B in long rows, with copies of B and without.
  /// With AVX-512 on a Zen 5, tiles whose sums stay in registers take a quarter less time from memory without copies.
  static constexpr bool is_large_zen = prumo::detail::compiled_for_zen && simd_bytes >= 64;
  static constexpr std::int64_t shortest_of_far_copies = is_large_zen || simd_bytes < 64 ? 64 : 32;
  static constexpr std::int64_t shortest_of_far_rows = is_large_zen ? longest_in_registers : 32;
  /// Elements of the depth for which the sums of a wide block are loaded and stored once. As many rows of B are read
  /// side by side. On an Intel Skylake 12 x 5000 x 1500 takes 3.1 ms with 16, and 6.0 with 32.
  static constexpr std::int64_t wide_depth = simd_bytes >= 64 && !prumo::detail::compiled_for_skylake ? 32 : 16;

  /// Rows of B that are about a multiple of 1 KiB apart would push each other out of a first-level cache. Few rows of C
  /// read only as many of them together as such a cache can hold. With a large second-level cache, two tiles read them
  /// from there sooner than they are copied: 12 x 1024 x 150 took 47 us with copies, and takes 24.
  template <class T>
  static bool has_colliding_rows(const gemm_problem<T>& problem) {
    constexpr std::int64_t distance = 1024, about = 16, tile_rows = direct_sizes<compute_t<T>>::tile_rows;
    constexpr std::int64_t fewest_rows = direct_sizes<compute_t<T>>::has_large_caches ? 2 * tile_rows : few_rows;
    const std::int64_t end = problem.b.row_stride * static_cast<std::int64_t>(sizeof(T)) + about - 1;
    return end >= distance && end % distance < 2 * about - 1 && problem.m > fewest_rows && problem.k > 4;
  }

  /// Whether so many elements mostly come from memory, or from a cache that is about as slow, where the threads share
  /// them out.
  template <class T>
  static bool are_far(std::int64_t elements, std::int64_t threads) {
    return elements > threads * direct_sizes<compute_t<T>>::most_cached_elements;
  }

  /// Whether rows of B are no longer than a vector and have no gaps, and A lies in rows. Then a tile reads both in
  /// their order, however deep it is.
  template <class T>
  bool is_narrow(const gemm_problem<T>& problem) const {
    return problem.n <= direct_sizes<compute_t<T>>::lanes && problem.b.row_stride == problem.n && !copies_b &&
           problem.a.column_stride == 1;
  }

  /// Whether tiles can hold whole rows of C in registers. The nearest cache holds B, or most of it where tiles have
  /// more rows. So many rows of each thread repay a copy of B.
  template <class T>
  static bool has_short_rows(const gemm_problem<T>& problem, std::int64_t threads) {
    using sizes = direct_sizes<compute_t<T>>;
    constexpr std::int64_t most_vectors = 4, fewest_rows = 32;
    const std::int64_t vectors = divide_up(problem.n, sizes::lanes);
    if (vectors > most_vectors || problem.k > longest_in_registers || problem.m < threads * fewest_rows) return false;
    if (problem.n < sizes::lanes && !prumo::detail::has_first_lanes) return false;
    const std::int64_t most_elements = vectors < most_vectors ? sizes::whole_rows_elements : sizes::copied_elements;
    return vectors * sizes::lanes * problem.k <= most_elements;
  }

  /// So few rows that each row of B is used by a few tiles only: it is read as far as possible in one go. For more rows
  /// this pays where B comes from memory, and where sums are so long that a strip of B that stays in a cache would be
  /// narrow.
  template <class T>
  bool is_wide(const gemm_problem<T>& problem) const {
    constexpr std::int64_t short_sum = 16, longer_sum = 160, longer_sum_of_copies = 64;
    constexpr std::int64_t tile_rows = direct_sizes<compute_t<T>>::tile_rows;
    if (problem.m > few_rows && problem.k <= wide_depth) return false;
    const std::int64_t shortest_of_far = copies_b ? shortest_of_far_copies : shortest_of_far_rows;
    const std::int64_t most_rows = problem.k > longer_sum ? 96 : 48;
    const bool is_far_and_wide =
        problem.k > shortest_of_far && problem.n >= 4 * problem.m && is_far && problem.b.column_stride == 1;
    if (problem.m > few_rows && problem.m <= most_rows && is_far_and_wide) return true;
    if (problem.n < 64 * problem.m || problem.k <= short_sum) return false;
    if (problem.m <= few_rows) return true;
    const std::int64_t longest_of_tile = copies_b ? longer_sum_of_copies : longest_in_registers;
    return problem.m <= tile_rows && (is_far || problem.k > longest_of_tile);
  }

  /// Cuts C into blocks of equal size that have at most so many rows and columns, in whole tiles.
  template <class T>
  void cut(const gemm_problem<T>& problem, std::int64_t most_rows, std::int64_t most_columns) {
    const auto equal = [](std::int64_t extent, std::int64_t most, std::int64_t unit) {
      return round_up(divide_up(extent, divide_up(extent, most)), unit);
    };
    constexpr std::int64_t tile_rows = direct_sizes<compute_t<T>>::tile_rows;
    rows = problem.m <= tile_rows ? problem.m : equal(problem.m, most_rows, tile_rows);
    columns = equal(problem.n, most_columns, direct_sizes<compute_t<T>>::panel);
    row_blocks = divide_up(problem.m, rows);
    column_blocks = divide_up(problem.n, columns);
  }

  /// Cuts on until there are a few blocks for each thread: rows first, because threads that write parts of the same
  /// rows take cache lines from each other, but where B is copied, columns first. With AVX-512, rows also come first if
  /// few rows of B are copied: then a block writes whole rows of C, one behind the other.
  template <class T>
  void cut_for_threads(const gemm_problem<T>& problem, std::int64_t threads) {
    constexpr std::int64_t panel = direct_sizes<compute_t<T>>::panel, tile_rows = direct_sizes<compute_t<T>>::tile_rows;
    // Where each block copies the few columns of B, there are no more than needed.
    const bool copies_few =
        has_whole_rows || (problem.n < panel && (copies_b || problem.n > direct_sizes<compute_t<T>>::lanes ||
                                                 problem.b.row_stride != problem.n));
    const std::int64_t wanted = threads == 1 ? 1 : (copies_few ? 1 : 4) * threads;
    const auto are_few = [&] { return problem.batch * row_blocks * column_blocks * parts < wanted; };
    constexpr std::int64_t few_copied_rows = 16;
    const bool has_large_caches = direct_sizes<compute_t<T>>::has_large_caches;
    const bool cuts_rows = !copies_b || (has_large_caches && problem.k <= few_copied_rows);
    while (are_few() && rows > 4 * tile_rows && cuts_rows) cut(problem, rows / 2, columns);
    while (are_few() && columns > 4 * panel) cut(problem, rows, columns / 2);
    if (shares_columns(problem) && column_blocks % threads == 0) return;
    while (are_few() && rows > tile_rows) cut(problem, rows / 2, columns);
  }

  /// Whether C has so few rows and so many columns that threads had better not all read a large B.
  template <class T>
  bool shares_columns(const gemm_problem<T>& problem) const {
    constexpr std::int64_t elements_of_row = 1024, tile_rows = direct_sizes<compute_t<T>>::tile_rows;
    return problem.m <= 4 * tile_rows && problem.n >= 8 * problem.m &&
           problem.n * problem.k > elements_of_row * problem.m;
  }

  /// Gives each thread as many rows, if it has enough of them for high tiles, and in place of columns that are copied.
  /// Rows in whole tiles could be so unequal that of two threads one had 240 of 392.
  template <class T>
  bool share_rows(const gemm_problem<T>& problem, std::int64_t threads, std::int64_t most_rows) {
    constexpr std::int64_t tile_rows = direct_sizes<compute_t<T>>::tile_rows;
    const std::int64_t rows_of_thread = divide_up(problem.m, threads);
    const std::int64_t least_rows = copies_b ? 4 * tile_rows : tile_rows / 2;
    if (threads == 1 || problem.batch > 1 || rows_of_thread < least_rows || shares_columns(problem)) return false;
    const std::int64_t blocks_of_thread = std::max<std::int64_t>(1, (rows_of_thread + most_rows / 2) / most_rows);
    rows = divide_up(problem.m, threads * blocks_of_thread);
    // Seven rows behind the last high tile would be tiles of four and three.
    constexpr std::int64_t unit = 4, many_rows = 32;
    if (rows >= many_rows) rows = round_up(rows, unit);
    row_blocks = divide_up(problem.m, rows);
    return true;
  }

  /// Puts blocks of the same rows behind each other if B stays in a cache meanwhile. If they are few, they are made
  /// equal, because each thread gets some of them.
  template <class T>
  void put_rows_first(const gemm_problem<T>& problem, std::int64_t threads) {
    are_rows_first = column_blocks > 1 && problem.n <= direct_sizes<compute_t<T>>::most_cached_elements / problem.k;
    if (!are_rows_first || threads == 1 || row_blocks >= 4 * threads) return;
    rows = divide_up(problem.m, row_blocks);
    row_blocks = divide_up(problem.m, rows);
  }

  /// The most columns of a block whose sums stay in registers. The memory for sums must hold as many rows of the block
  /// as a tile has. If C has no more rows than a tile, each element of B is read only once. Then B needs no cache, and
  /// blocks are as wide as that memory allows, because each block costs time: on an Intel Skylake, 1 x 216539 x 1 takes
  /// 44 us, and would take 92 us in blocks of 512 columns. An epilogue keeps the narrow blocks, in which tiles can add
  /// the bias while sums are in registers.
  template <class T>
  static std::int64_t columns_in_registers(const gemm_problem<T>& problem) {
    using sizes = direct_sizes<compute_t<T>>;
    const bool is_low = problem.m <= sizes::tile_rows && !problem.has_epilogue();
    const std::int64_t rows = is_low ? problem.m : sizes::tile_rows;
    const std::int64_t kept = (sizes::kept_elements - sizes::panel) / rows / sizes::panel * sizes::panel;
    return is_low ? kept : std::min(sizes::epilogue_columns, kept);
  }

  /// Sums stay in registers over all of k. The part of B that a block reads stays in a first-level cache, or in a
  /// second-level one if B comes from memory and few tiles read it.
  template <class T>
  void cut_for_registers(const gemm_problem<T>& problem, std::int64_t threads) {
    using sizes = direct_sizes<compute_t<T>>;
    const std::int64_t most_columns = columns_in_registers(problem);
    const std::int64_t least_rows = std::int64_t{copies_b ? 32 : 8} * sizes::tile_rows;
    /// Multiply-adds of a block, beside which it takes little time to copy columns of B.
    constexpr std::int64_t block_products = std::int64_t{1} << 18;
    depth = problem.k;
    if (has_whole_rows) {
      cut(problem, problem.m, round_up(problem.n, sizes::panel));
      if (!share_rows(problem, threads, problem.m)) cut_for_threads(problem, threads);
      return;
    }
    const bool is_low = problem.m <= 4 * sizes::tile_rows && is_far && !copies_b;
    const std::int64_t kept = is_low ? sizes::cached_elements : sizes::copied_elements;
    const std::int64_t fitting =
        std::clamp(kept / problem.k / sizes::panel * sizes::panel, sizes::panel, most_columns) -
        round_up(front, sizes::panel);
    cut(problem, least_rows, fitting);
    const std::int64_t most_rows = std::max(least_rows, block_products / (columns * problem.k));
    cut(problem, most_rows, fitting);
    if (!share_rows(problem, threads, most_rows)) cut_for_threads(problem, threads);
  }

  /// The sums of a block are kept in a cache, and in registers over a block of the depth.
  template <class T>
  void cut_for_kept_sums(const gemm_problem<T>& problem, std::int64_t threads) {
    using sizes = direct_sizes<compute_t<T>>;
    constexpr std::int64_t most_wide_depth = 16, widest = 8192, narrow = 128, deepest = 2048, deepest_columns = 128;
    if (is_wide(problem)) {
      const std::int64_t kept = sizes::kept_elements / problem.m;
      const std::int64_t most = copies_b ? std::min(kept, sizes::copied_elements / most_wide_depth) : kept;
      cut(problem, problem.m, std::min(widest, most / sizes::panel * sizes::panel));
      depth = problem.m <= few_rows ? depth_of_few_rows(problem) : wide_depth;
    } else {
      // The fewer columns are copied at once, the deeper they may be. Columns with gaps between them are read deeply.
      const std::int64_t copied =
          problem.b.column_stride == 1 ? 4 * sizes::panel : std::max<std::int64_t>(16, sizes::panel);
      cut(problem, sizes::tile_rows, copies_b ? copied : narrow);
      cut(problem, sizes::kept_elements / columns / sizes::tile_rows * sizes::tile_rows, columns);
      // Of columns of A, each step of the depth reads another line.
      const std::int64_t most = problem.a.column_stride == 1 ? deepest : deepest_columns;
      depth = std::min<std::int64_t>(std::max<std::int64_t>(sizes::cached_elements / columns, 64), most);
    }
    if (widens_for_direct<T>) depth = std::min(depth, sizes::widened_depth);
    // Equal blocks: a last one that is short would load and store sums for little.
    depth = divide_up(part_depth, divide_up(part_depth, depth));
    keeps_sums = parts > 1 || depth < problem.k;
    if (is_far && is_wide(problem) && problem.m <= few_rows) {
      cut_for_long_runs(problem, threads);
    } else {
      cut_for_threads(problem, threads);
    }
  }

  /// Cuts few rows of C, which read a far B once, into as few blocks as make equal shares. A thread then reads long
  /// runs of rows of B, which come from memory faster than short ones. Two and three rows of C prefetch short runs.
  /// Three rows prefetch long runs, too, with AVX2, and with AVX-512 if no cache can hold B.
  template <class T>
  void cut_for_long_runs(const gemm_problem<T>& problem, std::int64_t threads) {
    constexpr std::int64_t shortest = 4 * direct_sizes<compute_t<T>>::panel;
    const std::int64_t unit = threads / std::gcd(threads, problem.batch * parts);
    cut(problem, problem.m, std::max(shortest, divide_up(problem.n, round_up(column_blocks, unit))));
    constexpr std::int64_t short_run = 4096 / static_cast<std::int64_t>(sizeof(T));
    const auto bytes_of_b = static_cast<std::size_t>(problem.n * problem.k) * sizeof(T);
    const bool pays_for_long_runs = simd_bytes < 64 || bytes_of_b > prumo::detail::last_level_cache_bytes();
    const bool pays = columns <= short_run || (problem.m == few_rows && pays_for_long_runs);
    if (problem.m > 1 && !copies_b && pays) rows_ahead = depth;
  }

  /// How many rows of B are read side by side for a C of few rows. With AVX-512, and for three rows of C, many rows
  /// come from memory faster: on two cores of a Zen 5, 1 x 2500 x 4000 takes 507 us with 8 rows, and 414 with 32.
  /// Intel's servers of the Skylake generation do not see the order of so many: there, 1 x 3054 x 1910 takes 1.37 ms
  /// with 8 rows, and 2.39 with 32. With AVX2, short rows are read many at a time, so that sums are loaded and stored
  /// less often, and long rows from memory a few at a time. On two cores of a Zen 3, 1 x 875 x 108 takes 11.6 us with 8
  /// rows and 6.5 us with 32; 1 x 371 x 11651 from memory takes 920 and 1090 us.
  template <class T>
  std::int64_t depth_of_few_rows(const gemm_problem<T>& problem) const {
    constexpr std::int64_t many_entries = 4096, some_entries = 1024, many = 32, some = 16, few = 8;
    const std::int64_t entries = problem.m * problem.n;
    const bool reads_many = simd_bytes >= 64 ? !prumo::detail::compiled_for_skylake : problem.m == few_rows;
    if (is_far && reads_many) return many;
    if (simd_bytes >= 64 || entries > many_entries) return few;
    return entries > some_entries ? some : many;
  }

  /// Cuts long sums if C is so small that it has no blocks for many threads.
  template <class T>
  void choose_parts(const gemm_problem<T>& problem) {
    constexpr std::int64_t blocks_wanted = 32, least_depth = 256, entries_of_block = 4096;
    constexpr std::int64_t least_products = std::int64_t{1} << 15;
    const std::int64_t entries = problem.m * problem.n * problem.batch;
    const std::int64_t most = std::min({blocks_wanted * entries_of_block / std::max<std::int64_t>(entries, 1),
                                        problem.k / least_depth, entries * problem.k / least_products, blocks_wanted});
    const auto wanted =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1))));
    part_depth = divide_up(problem.k, wanted);
    parts = divide_up(problem.k, part_depth);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
