// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the bits of reductions, softmaxes and products with vectors. The test runs it with one thread and with
// several: the lines must be the same.

#include <prumo/philox.hpp>
#include <prumo/prumo.hpp>

#include <array>
#include <cstdio>

namespace {

using exec = Kokkos::DefaultHostExecutionSpace;

template <class View>
void print_bits(const char* what, const View& values) {
  using T = typename View::value_type;
  // As an integer of the same size, so that nothing is rounded on the way.
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  std::printf("%s", what);
  for (std::size_t index = 0; index < values.size(); ++index) {
    std::printf(" %llx", static_cast<unsigned long long>(Kokkos::bit_cast<bits>(values.data()[index])));
  }
  std::printf("\n");
}

/// Means and positions of channels whose pixels lie in runs, of channels that lie side by side, and of few channels.
template <class View>
void print_reductions_over_axes(const View& values) {
  using T = typename View::value_type;
  prumo::context<exec> ctx;
  const auto print_channels = [&](std::int64_t images, std::int64_t channels, std::int64_t pixels, bool channels_last) {
    const Kokkos::View<T*, Kokkos::HostSpace> means("means", channels);
    const Kokkos::View<std::int64_t*, Kokkos::HostSpace> places("places", channels);
    const std::int64_t step = channels + 1;  // a gap, so that images and pixels do not merge
    const Kokkos::LayoutStride strides =
        channels_last ? Kokkos::LayoutStride(images, pixels * step + 1, channels, 1, pixels, step)
                      : Kokkos::LayoutStride(images, channels * pixels, channels, pixels, pixels, 1);
    const Kokkos::View<T***, Kokkos::LayoutStride, Kokkos::HostSpace> x(values.data(), strides);
    for (const auto kind : {prumo::reduction::sum, prumo::reduction::mean, prumo::reduction::sum_of_squares}) {
      prumo::reduce(ctx, kind, x, {0, 2}, means);
      ctx.fence();
      print_bits("over axes", means);
    }
    prumo::reduce(ctx, prumo::reduction::argmax, x, {0, 2}, places);
    ctx.fence();
    print_bits("places over axes", places);
  };
  print_channels(50, 20, 1000, false);
  print_channels(50, 20, 900, true);
  print_channels(300, 2, 1500, false);
  print_channels(300, 2, 1000, true);
}

template <class T>
void print_reductions(const char* type) {
  constexpr std::int64_t rows = 7;
  constexpr std::int64_t columns = 150001;  // several segments, the last one short
  prumo::context<exec> ctx;
  const Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", rows, columns);
  for (std::int64_t index = 0; index < rows * columns; ++index) {
    x.data()[index] = prumo::random::uniform<T>(20261121, 0, static_cast<std::uint64_t>(index));
  }
  const Kokkos::View<T, Kokkos::HostSpace> total("total");
  const Kokkos::View<T*, Kokkos::HostSpace> of_rows("of_rows", rows);
  const Kokkos::View<T*, Kokkos::HostSpace> of_columns("of_columns", columns);

  const Kokkos::View<std::int64_t, Kokkos::HostSpace> place("place");
  const Kokkos::View<std::int64_t*, Kokkos::HostSpace> of_row_places("of_row_places", rows);
  const auto inner = Kokkos::subview(x, Kokkos::ALL, std::pair<std::int64_t, std::int64_t>{3, columns - 3});
  const Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::HostSpace> transposed(x.data(), columns, rows);
  const Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::HostSpace> side_by_side(x.data(), rows, columns);

  std::printf("%s\n", type);
  const auto print_all = [&](const char* name, auto whole, auto by_row) {
    std::printf("%s ", name);
    whole(x, total);
    ctx.fence();
    print_bits("whole", total);
    whole(inner, total);
    ctx.fence();
    print_bits("inner part", total);
    by_row(x, of_rows);
    ctx.fence();
    print_bits("rows", of_rows);
    by_row(side_by_side, of_rows);
    ctx.fence();
    print_bits("few rows that lie side by side", of_rows);
    by_row(transposed, of_columns);
    whole(of_columns, total);
    ctx.fence();
    print_bits("many rows that lie side by side", total);
  };
  print_all(
      "sum", [&](const auto& from, const auto& to) { prumo::sum(ctx, from, to); },
      [&](const auto& from, const auto& to) { prumo::sum_rows(ctx, from, to); });
  print_all(
      "sum_of_squares", [&](const auto& from, const auto& to) { prumo::sum_of_squares(ctx, from, to); },
      [&](const auto& from, const auto& to) { prumo::sum_of_squares_rows(ctx, from, to); });
  print_all(
      "mean", [&](const auto& from, const auto& to) { prumo::mean(ctx, from, to); },
      [&](const auto& from, const auto& to) { prumo::mean_rows(ctx, from, to); });
  print_all(
      "max", [&](const auto& from, const auto& to) { prumo::max(ctx, from, to); },
      [&](const auto& from, const auto& to) { prumo::max_rows(ctx, from, to); });
  print_reductions_over_axes(x);
  prumo::argmin(ctx, inner, place);
  prumo::argmin_rows(ctx, side_by_side, of_row_places);
  ctx.fence();
  print_bits("argmin", place);
  print_bits("argmin of rows", of_row_places);
}

/// A checksum of all bits, in order (FNV-1a): the rows themselves would be megabytes of text.
template <class View>
void print_checksum(const char* what, const View& values) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (std::size_t at = 0; at < values.size() * sizeof(typename View::value_type); ++at) {
    sum = (sum ^ bytes[at]) * 0x100000001b3u;
  }
  std::printf("%s %llx\n", what, static_cast<unsigned long long>(sum));
}

/// Two arrays: first a few long rows, each of which several threads share; then many short rows, so that each thread
/// has some of its own.
template <class T>
void print_softmax(const char* type) {
  prumo::context<exec> ctx;
  for (const auto& [rows, columns] :
       {std::pair{1, 300001}, std::pair{3, 70001}, std::pair{40, 20011}, std::pair{900, 7}}) {
    const Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", rows, columns), y("y", rows, columns);
    for (std::int64_t index = 0; index < std::int64_t{rows} * columns; ++index) {
      x.data()[index] = prumo::random::uniform<T>(20261121, 1, static_cast<std::uint64_t>(index));
    }
    std::printf("%s ", type);
    prumo::softmax(ctx, x, y);
    ctx.fence();
    print_checksum("softmax", y);
    prumo::log_softmax(ctx, x, y);
    ctx.fence();
    print_checksum("log_softmax", y);
  }
}

/// Wide and tall matrices, by rows and by columns.
template <class T>
void print_gemv(const char* type) {
  prumo::context<exec> ctx;
  for (const auto& [rows, columns] :
       {std::pair{3, 100003}, std::pair{100003, 3}, std::pair{900, 1001}, std::pair{40, 40009}}) {
    const std::int64_t count = std::int64_t{rows} * columns;
    const Kokkos::View<T*, Kokkos::HostSpace> a("a", count), x("x", columns), y("y", rows);
    for (std::int64_t index = 0; index < count; ++index) {
      a(index) = prumo::random::uniform<T>(20261121, 2, static_cast<std::uint64_t>(index));
    }
    for (std::int64_t index = 0; index < columns; ++index) {
      x(index) = prumo::random::uniform<T>(20261121, 3, static_cast<std::uint64_t>(index));
    }
    std::printf("%s ", type);
    using prumo::transposition;
    prumo::gemv(ctx, transposition::no, 1,
                Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>(a.data(), rows, columns), x, 0, y,
                {.implementation = "portable"});
    ctx.fence();
    print_checksum("gemv by rows", y);
    prumo::gemv(ctx, transposition::no, 1,
                Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::HostSpace>(a.data(), rows, columns), x, 0, y,
                {.implementation = "portable"});
    ctx.fence();
    print_checksum("gemv by columns", y);
  }
}

/// Gradients of a convolution for many small images, which groups share, and for few images, of which several threads
/// take a part of the output channels each.
template <class T>
void print_convolution_gradients(const char* type) {
  using images = Kokkos::View<T****, Kokkos::LayoutRight, Kokkos::HostSpace>;
  prumo::context<exec> ctx;
  const auto filled = [](std::size_t n, std::size_t channels, std::size_t rows, std::size_t columns) {
    const images result("images", n, channels, rows, columns);
    for (std::size_t index = 0; index < result.size(); ++index) {
      result.data()[index] = prumo::random::uniform<T>(20261121, n + channels, index);
    }
    return result;
  };
  for (const auto& [count, inputs, side, outputs, filter] :
       {std::array<std::size_t, 5>{300, 6, 14, 16, 5}, {2, 3, 90, 21, 7}, {1, 1, 28, 6, 5}}) {
    const images x = filled(count, inputs, side, side), w = filled(outputs, inputs, filter, filter),
                 dy = filled(count, outputs, side - filter + 1, side - filter + 1);
    const Kokkos::View<T*, Kokkos::HostSpace> bias("bias", outputs);
    for (const char* const implementation : {"direct", "portable"}) {
      const images dx("dx", x.layout()), dw("dw", w.layout());
      std::printf("%s %s ", type, implementation);
      prumo::convolve_backward_data(ctx, dy, w, dx, {.implementation = implementation});
      prumo::convolve_backward_weights(ctx, x, dy, dw,
                                       {.bias = prumo::array_ref(bias), .implementation = implementation});
      ctx.fence();
      print_checksum("gradient of images", dx);
      print_checksum("gradient of filters", dw);
      print_bits("gradient of bias", bias);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  std::fprintf(stderr, "%d threads\n", prumo::concurrency_of(exec()));
  print_reductions<float>("f32");
  print_reductions<double>("f64");
  print_reductions<prumo::f16>("f16");
  print_reductions<prumo::bf16>("bf16");
  print_softmax<float>("f32");
  print_gemv<float>("f32");
  print_convolution_gradients<float>("f32");
  print_softmax<double>("f64");
  print_gemv<double>("f64");
  print_convolution_gradients<double>("f64");
  print_softmax<prumo::f16>("f16");
  print_gemv<prumo::f16>("f16");
  print_convolution_gradients<prumo::f16>("f16");
  print_softmax<prumo::bf16>("bf16");
  print_gemv<prumo::bf16>("bf16");
  print_convolution_gradients<prumo::bf16>("bf16");
}
