// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mistakes that users make. check_mistakes.py compiles one at a time: none compiles, and the comment beside its number
// is in what the compiler says.
#include <prumo/prumo.hpp>

#include <vector>

using exec = Kokkos::DefaultExecutionSpace;

struct sum_of_two {
  KOKKOS_FUNCTION float operator()(float x, float y) const { return x + y; }
};

struct not_const {
  KOKKOS_FUNCTION float operator()(float x) { return x; }
};

struct two_results {
  KOKKOS_FUNCTION auto operator()(float x) const { return prumo::values(x, x); }
};

void mistake([[maybe_unused]] const exec& instance, [[maybe_unused]] prumo::context<exec>& ctx,
             [[maybe_unused]] const prumo::context<exec>& const_ctx) {
  const Kokkos::View<float*, exec> x("x", 3), y("y", 3);
  const Kokkos::View<float**, exec> a("a", 3, 3), b("b", 3, 3);
  const Kokkos::View<int*, exec> integers("integers", 3);
  const Kokkos::View<double*, exec> doubles("doubles", 3);
  const Kokkos::View<const float*, exec> constant = x;
  const std::vector<float> numbers(3);
#if MISTAKE == 1  // prumo::transform: the formula cannot be called with one value of each input
  prumo::transform(ctx, sum_of_two{}, x, y);
#elif MISTAKE == 2  // prumo::transform: the formula cannot be called with one value of each input
  prumo::transform(ctx, sum_of_two{}, x, x, x, y);
#elif MISTAKE == 3  // prumo::transform: the formula cannot be called with one value of each input
  prumo::transform(ctx, not_const{}, x, y);
#elif MISTAKE == 4  // prumo::transform: the formula cannot be called with one value of each input
  prumo::transform(ctx, two_results{}, y);
#elif MISTAKE == 5  // prumo::transform: the arguments after the formula are Kokkos views of float, double, prumo::f16
  prumo::transform(ctx, sum_of_two{}, integers, integers, integers);
#elif MISTAKE == 6  // prumo::transform: an output view is const
  prumo::transform(ctx, sum_of_two{}, x, x, constant);
#elif MISTAKE == 7  // prumo::add: the views differ in value type, or it is not float, double, prumo::f16 or prumo::bf16
  prumo::add(ctx, integers, integers, integers);
#elif MISTAKE == 8  // prumo::add: the views differ in value type
  prumo::add(ctx, x, doubles, y);
#elif MISTAKE == 9  // prumo::add: the output view is const
  prumo::add(ctx, x, x, constant);
#elif MISTAKE == 10  // prumo::add: the arrays are Kokkos views or prumo::array_ref
  prumo::add(ctx, numbers, x, y);
#elif MISTAKE == 11  // prumo::add: the first argument is a prumo::context or an execution space instance
  prumo::add(x, x, x, y);
#elif MISTAKE == 12  // prumo::softmax: the first argument is a prumo::context that is kept
  prumo::softmax(instance, a, b);
#elif MISTAKE == 13  // prumo::softmax: the first argument is a prumo::context that is kept
  prumo::softmax(prumo::context<exec>(instance), a, b);
#elif MISTAKE == 14  // prumo::gemv: the first argument is a prumo::context that is kept
  prumo::gemv(const_ctx, prumo::transposition::no, 1, a, x, 0, y);
#elif MISTAKE == 15  // prumo::gemv: A is a matrix (rank 2), x and y are vectors (rank 1)
  prumo::gemv(ctx, prumo::transposition::no, 1, a, b, 0, y);
#elif MISTAKE == 16  // prumo::sum: the first argument is a prumo::context that is kept
  prumo::sum(instance, x, Kokkos::View<float, exec>("sum"));
#elif MISTAKE == 17  // prumo::gemm: the first argument is a prumo::context that is kept
  prumo::gemm(instance, prumo::transposition::no, prumo::transposition::no, 1, a, a, 0, b);
#elif MISTAKE == 18  // prumo::transform: the last argument is the output view
  prumo::transform(ctx, two_results{});
#endif
}
