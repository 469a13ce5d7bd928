// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: strides and paddings that differ by direction, channels in the last place, agreement of
// the implementations and with the convolution itself, refusals.

#include "operation_test.hpp"
#include <prumo/case/rounding.hpp>
#include <prumo/convolution.hpp>
#include <prumo/convolution_backward.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace prumo {
namespace {

using namespace tests;

using options_type = convolution_backward_options;

/// visit(n, m, i, j, c, p, q, row, column) for each product of dy(n, m, i, j), w(m, c, p, q) and x(n, c, row, column).
template <class X, class W, class Y, class Visit>
void for_each_product(const X& x, const W& w, const Y& dy, const options_type& options, const Visit& visit) {
  for_each_index(dy, [&](std::size_t n, std::size_t m, std::size_t i, std::size_t j) {
    for (std::size_t c = 0; c < w.extent(1); ++c) {
      for (std::size_t p = 0; p < w.extent(2); ++p) {
        for (std::size_t q = 0; q < w.extent(3); ++q) {
          const auto row =
              static_cast<std::int64_t>(i) * options.row_stride + static_cast<std::int64_t>(p) - options.row_padding;
          const auto column = static_cast<std::int64_t>(j) * options.column_stride + static_cast<std::int64_t>(q) -
                              options.column_padding;
          if (row < 0 || column < 0 || row >= static_cast<std::int64_t>(x.extent(2)) ||
              column >= static_cast<std::int64_t>(x.extent(3))) {
            continue;
          }
          visit(n, m, i, j, c, p, q, static_cast<std::size_t>(row), static_cast<std::size_t>(column));
        }
      }
    }
  });
}

using exact_images = Kokkos::View<double****, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class View>
exact_images zeros_like(const View& view) {
  return exact_images("exact", view.extent(0), view.extent(1), view.extent(2), view.extent(3));
}

template <class View>
void expect_equal(const View& view, const exact_images& expected, const std::string& what) {
  using value_type = typename View::non_const_value_type;
  const auto result = host_copy(view);
  std::int64_t wrong = 0;
  for_each_index(
      view, [&](auto... at) { wrong += result(at...) == value_type(static_cast<float>(expected(at...))) ? 0 : 1; });
  EXPECT_EQ(wrong, 0) << what;
}

/// Calls compute(name) for each of the names, and look(name) behind it if the implementation can compute that.
template <class Compute, class Look>
void for_each_implementation(const std::vector<std::string_view>& names, const Compute& compute, const Look& look) {
  int computed = 0;
  for (const std::string_view name : names) {
    try {
      compute(name);
    } catch (const unsupported_error&) {
      continue;
    }
    ++computed;
    look(std::string(name));
  }
  EXPECT_GT(computed, 0);
}

/// Compares both gradients, by every implementation, with sums of whole numbers.
template <class X, class W, class Y>
void expect_exact(const X& x, const W& w, const Y& dy, options_type options) {
  using value_type = typename X::non_const_value_type;
  context<exec> ctx;
  const instance_ref instance(ctx.instance());
  const dtype type = array_ref(x).type;
  const auto x_values = set_whole_numbers(x, 1), w_values = set_whole_numbers(w, 3),
             dy_values = set_whole_numbers(dy, 4);
  const auto expected_dx = zeros_like(x), expected_dw = zeros_like(w);
  for_each_product(x, w, dy, options, [&](auto n, auto m, auto i, auto j, auto c, auto p, auto q, auto r, auto k) {
    const auto gradient = static_cast<double>(dy_values(n, m, i, j));
    expected_dx(n, c, r, k) += gradient * static_cast<double>(w_values(m, c, p, q));
    expected_dw(m, c, p, q) += gradient * static_cast<double>(x_values(n, c, r, k));
  });
  const exact_images expected_bias("exact bias", w.extent(0), 1, 1, 1);
  for_each_index(dy, [&](auto n, auto m, auto i, auto j) {
    expected_bias(m, 0, 0, 0) += static_cast<double>(dy_values(n, m, i, j));
  });

  const options_type given = options;
  for_each_implementation(
      convolution_backward_data_implementations(instance.space(), type),
      [&](std::string_view name) {
        set_elements(x, [](auto...) { return value_type(77.0f); });
        options.implementation = name;
        convolve_backward_data(ctx, dy, w, x, options);
        ctx.fence();
      },
      [&](const std::string& name) { expect_equal(x, expected_dx, "data, " + name); });
  set_whole_numbers(x, 1);
  const images<value_type> bias("bias", w.extent(0), 2, 1, 1);  // whose entries are not neighbours
  const auto of_channels = Kokkos::subview(bias, Kokkos::ALL, 1, 0, 0);
  options = given;
  for_each_implementation(
      convolution_backward_weights_implementations(instance.space(), type),
      [&](std::string_view name) {
        set_elements(w, [](auto...) { return value_type(77.0f); });
        options.implementation = name;
        options.bias = std::nullopt;
        convolve_backward_weights(ctx, x, dy, w, options);
        ctx.fence();
        expect_equal(w, expected_dw, "weights without bias, " + std::string(name));
        set_elements(w, [](auto...) { return value_type(77.0f); });
        options.bias = array_ref(of_channels);
        convolve_backward_weights(ctx, x, dy, w, options);
        ctx.fence();
      },
      [&](const std::string& name) {
        expect_equal(w, expected_dw, "weights, " + name);
        const auto result = host_copy(bias);
        for (std::size_t m = 0; m < w.extent(0); ++m) {
          EXPECT_EQ(result(m, 1, 0, 0), value_type(static_cast<float>(expected_bias(m, 0, 0, 0)))) << name;
        }
      });
}

template <class T>
class convolution_backward_types : public testing::Test {};
TYPED_TEST_SUITE(convolution_backward_types, all_scalars);

TYPED_TEST(convolution_backward_types, strides_and_paddings_that_differ_by_direction) {
  const images<TypeParam> x("x", 2, 3, 13, 23), w("w", 5, 3, 4, 3), dy("dy", 2, 5, 8, 9);
  expect_exact(x, w, dy, {.row_stride = 2, .column_stride = 3, .row_padding = 3, .column_padding = 2});
}

TYPED_TEST(convolution_backward_types, channels_in_the_last_place) {
  const auto x = channels_last<TypeParam>(3, 4, 10, 12), w = channels_last<TypeParam>(9, 4, 3, 3);
  expect_exact(x, w, channels_last<TypeParam>(3, 9, 8, 10), {});
  expect_exact(x, w, images<TypeParam>("dy", 3, 9, 10, 12), {.row_padding = 1, .column_padding = 1});
}

TYPED_TEST(convolution_backward_types, filters_that_are_smaller_than_their_strides) {
  const images<TypeParam> x("x", 1, 2, 30, 31);
  expect_exact(x, images<TypeParam>("w", 3, 2, 7, 5), images<TypeParam>("dy", 1, 3, 6, 7),
               {.row_stride = 4, .column_stride = 4});
  expect_exact(x, images<TypeParam>("w", 3, 2, 1, 2), images<TypeParam>("dy", 1, 3, 8, 6),
               {.row_stride = 4, .column_stride = 5});
}

TYPED_TEST(convolution_backward_types, many_images) {
  expect_exact(images<TypeParam>("x", 300, 1, 9, 8), images<TypeParam>("w", 6, 1, 3, 5),
               images<TypeParam>("dy", 300, 6, 7, 4), {});
  expect_exact(images<TypeParam>("x", 70, 6, 14, 14), images<TypeParam>("w", 16, 6, 5, 5),
               images<TypeParam>("dy", 70, 16, 10, 10), {});
}

TYPED_TEST(convolution_backward_types, shapes_that_nobody_chose) {
  std::minstd_rand random(11);
  const auto between = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto size = [](auto value) { return static_cast<std::size_t>(value); };
  for (int number = 0; number < 20; ++number) {
    SCOPED_TRACE("shape " + std::to_string(number));
    const int fh = between(1, 7), fw = between(1, 9);
    options_type options{.row_stride = between(1, 3), .column_stride = between(1, 3)};
    if (between(0, 2) > 0) options.row_stride = options.column_stride = 1;
    options.row_padding = between(0, fh - 1);
    options.column_padding = between(0, 1) * between(0, fw - 1);
    const int height = fh + between(0, 20), width = fw + between(0, 40);
    const int count = between(1, 5), inputs = between(1, 5), outputs = between(1, 20);
    expect_exact(images<TypeParam>("x", size(count), size(inputs), size(height), size(width)),
                 images<TypeParam>("w", size(outputs), size(inputs), size(fh), size(fw)),
                 images<TypeParam>("dy", size(count), size(outputs),
                                   size(convolved_extent(height, fh, options.row_stride, options.row_padding)),
                                   size(convolved_extent(width, fw, options.column_stride, options.column_padding))),
                 options);
  }
}

template <class X, class Y>
long double scalar_product(const X& x, const Y& y) {
  const auto one = host_copy(x), other = host_copy(y);
  long double sum = 0;
  for_each_index(x, [&](auto... at) { sum += static_cast<long double>(one(at...)) * other(at...); });
  return sum;
}

/// <convolve(x, w), dy> = <x, backward_data(dy, w)> = <w, backward_weights(x, dy)>. Each is a sum of the same products,
/// so two of them differ by their roundings only: those of the sums of the operation, for each unit of magnitudes.
TEST(convolution_backward, gradients_belong_to_the_convolution) {
  context<exec> ctx;
  const auto size = [](auto value) { return static_cast<std::size_t>(value); };
  for (const int stride : {1, 2, 3}) {
    for (const int padding : {0, 1, 2}) {
      for (const auto& [count, inputs, height, width, outputs, filter] :
           {std::array{3, 2, 17, 20, 5, 3}, {2, 6, 22, 22, 16, 5}, {9, 1, 28, 28, 6, 5}, {1, 4, 40, 40, 16, 7}}) {
        SCOPED_TRACE(std::to_string(filter) + " x " + std::to_string(filter) + ", stride " + std::to_string(stride) +
                     ", padding " + std::to_string(padding));
        const std::int64_t rows = convolved_extent(height, filter, stride, padding);
        const std::int64_t columns = convolved_extent(width, filter, stride, padding);
        const images<double> x("x", size(count), size(inputs), size(height), size(width)), dx("dx", x.layout()),
            w("w", size(outputs), size(inputs), size(filter), size(filter)), dw("dw", w.layout()),
            dy("dy", size(count), size(outputs), size(rows), size(columns)), y("y", dy.layout());
        set_uniform(x, 1);
        set_uniform(w, 2);
        set_uniform(dy, 3);
        const convolution_options forward{stride, stride, padding, padding};
        const options_type backward{stride, stride, padding, padding};
        convolve(ctx, x, w, y, forward);
        convolve_backward_data(ctx, dy, w, dx, backward);
        convolve_backward_weights(ctx, x, dy, dw, backward);
        ctx.fence();
        const long double by_y = scalar_product(y, dy), by_x = scalar_product(x, dx), by_w = scalar_product(w, dw);
        for (const images<double>& each : {x, w, dy}) {
          const auto values = host_copy(each);
          for_each_index(each, [&](auto... at) { values(at...) = std::fabs(values(at...)); });
          write_back(each, values);
        }
        convolve(ctx, x, w, y, forward);
        ctx.fence();
        const long double magnitudes = scalar_product(y, dy);
        const auto bound = [&](double roundings) { return cases::gamma(dtype::f64, roundings + 1) * magnitudes; };
        const double of_y = inputs * filter * filter, of_x = outputs * filter * filter;
        EXPECT_LE(std::fabs(by_x - by_y), bound(of_y) + bound(of_x));
        EXPECT_LE(std::fabs(by_w - by_y), bound(of_y) + bound(static_cast<double>(count * rows * columns)));
        EXPECT_GT(std::fabs(by_y), 0);
      }
    }
  }
}

TEST(convolution_backward, takes_no_memory_when_it_is_called_again) {
  context<exec> ctx;
  const images<float> x("x", 4, 3, 20, 20), w("w", 6, 3, 5, 5), dy("dy", 4, 6, 16, 16);
  const auto both = [&] {
    convolve_backward_data(ctx, dy, w, x);
    convolve_backward_weights(ctx, x, dy, w);
    return ctx.workspace_bytes();
  };
  const std::size_t bytes = both();
  EXPECT_EQ(both(), bytes);
}

/// Kernels multiply what lies between their copies of rows by zeros. It must not be what somebody else has left there.
TEST(convolution_backward, what_a_workspace_held_before_does_not_matter) {
  context<exec> ctx;
  const Kokkos::View<std::byte*, exec> memory("workspace", std::size_t{16} << 20);
  constexpr std::uintptr_t alignment = 256;
  const std::uintptr_t rest = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
  ctx.adopt_workspace(memory.data() + alignment - rest, memory.size() - alignment);
  const auto size = [](auto value) { return static_cast<std::size_t>(value); };
  for (const auto& [count, inputs, height, width, outputs, filter, stride] : {std::array{3, 2, 17, 20, 5, 3, 1},
                                                                              {2, 1, 9, 11, 7, 4, 3},
                                                                              {1, 3, 70, 301, 21, 5, 1},
                                                                              {20, 6, 14, 14, 16, 5, 2}}) {
    const images<float> x("x", size(count), size(inputs), size(height), size(width)), dx("dx", x.layout()),
        w("w", size(outputs), size(inputs), size(filter), size(filter)), dw("dw", w.layout()),
        dy("dy", size(count), size(outputs), size(convolved_extent(height, filter, stride, 1)),
           size(convolved_extent(width, filter, stride, 1)));
    set_uniform(x, 1);
    set_uniform(w, 2);
    set_uniform(dy, 3);
    const auto expect_numbers = [&](const images<float>& results, const std::string& what) {
      ctx.fence();
      std::int64_t missing = 0;
      for_each_index(results,
                     [&, copy = host_copy(results)](auto... at) { missing += std::isnan(copy(at...)) ? 1 : 0; });
      EXPECT_EQ(missing, 0) << what << ", filter " << filter;
    };
    options_type options{stride, stride, 1, 1};
    const space_kind space = instance_ref(ctx.instance()).space();
    const auto fill = [&] { Kokkos::deep_copy(ctx.instance(), memory, std::byte{0xff}); };  // NaN
    for_each_implementation(
        convolution_backward_data_implementations(space, dtype::f32),
        [&](std::string_view name) {
          options.implementation = name;
          fill();
          convolve_backward_data(ctx, dy, w, dx, options);
        },
        [&](const std::string& name) { expect_numbers(dx, "data, " + name); });
    for_each_implementation(
        convolution_backward_weights_implementations(space, dtype::f32),
        [&](std::string_view name) {
          options.implementation = name;
          fill();
          convolve_backward_weights(ctx, x, dy, dw, options);
        },
        [&](const std::string& name) { expect_numbers(dw, "weights, " + name); });
  }
}

TEST(convolution_backward, sums_over_no_image_are_zero) {
  context<exec> ctx;
  const images<float> x("x", 0, 2, 8, 9), w("w", 4, 2, 3, 3), dy("dy", 0, 4, 6, 7);
  const Kokkos::View<float*, exec> bias("bias", 4);
  Kokkos::deep_copy(w, 7.0f);
  Kokkos::deep_copy(bias, 7.0f);
  for_each_implementation(
      convolution_backward_weights_implementations(instance_ref(ctx.instance()).space(), dtype::f32),
      [&](std::string_view name) {
        convolve_backward_weights(ctx, x, dy, w, {.bias = array_ref(bias), .implementation = name});
        ctx.fence();
      },
      [&](const std::string& name) {
        for_each_index(w, [&, copy = host_copy(w)](auto... at) { EXPECT_EQ(copy(at...), 0.0f) << name; });
        for_each_index(bias, [&, copy = host_copy(bias)](auto at) { EXPECT_EQ(copy(at), 0.0f) << name; });
      });
}

TEST(convolution_backward, refuses_what_does_not_fit) {
  context<exec> ctx;
  const images<float> x("my x", 2, 3, 8, 9), w("my w", 4, 3, 3, 3), dy("my dy", 2, 4, 6, 7);
  const auto data_message = [&](const images<float>& gradient, const options_type& options) {
    return message_of<error>([&] { convolve_backward_data(ctx, gradient, w, x, options); });
  };
  const auto weights_message = [&](const images<float>& gradient, const options_type& options) {
    return message_of<error>([&] { convolve_backward_weights(ctx, x, gradient, w, options); });
  };
  const images<float> other("other dy", 2, 4, 6, 6);
  EXPECT_THAT(data_message(other, {}), AllOf(StartsWith("prumo::convolve_backward_data: "),
                                             HasSubstr("dy [images x out_channels x 6 x 7]"), HasSubstr("'other dy'")));
  EXPECT_THAT(weights_message(other, {}),
              AllOf(StartsWith("prumo::convolve_backward_weights: "), HasSubstr("dy [images x out_channels x 6 x 7]"),
                    HasSubstr("dw 'my w'")));
  EXPECT_THAT(data_message(dy, {.row_stride = 0}), HasSubstr("strides of 1 or more (got 0, 1)"));
  EXPECT_THAT(weights_message(dy, {.column_padding = 3}), HasSubstr("smaller than the filter (got 0, 3)"));
  const images<float> strided("dy", 2, 4, 3, 4);
  EXPECT_THAT(data_message(strided, {.row_stride = 2, .column_stride = 2, .implementation = "direct"}),
              AllOf(HasSubstr("nothing computes f32 2 images"), HasSubstr("strides 2 x 2"),
                    HasSubstr("direct: it computes gradients for strides of 1 only")));
  EXPECT_THAT(weights_message(dy, {.implementation = "magic"}), HasSubstr("no implementation is called 'magic'"));
  const Kokkos::View<float*, exec> bias("my bias", 3), right("right", 4);
  EXPECT_THAT(weights_message(dy, {.bias = array_ref(bias)}),
              AllOf(HasSubstr("a bias' gradient with an entry for each output channel"), HasSubstr("'my bias'")));
  EXPECT_THAT(data_message(dy, {.bias = array_ref(right)}), HasSubstr("convolve_backward_weights() computes"));
  const Kokkos::View<double*, exec> wide("wide", 4);
  EXPECT_THAT(weights_message(dy, {.bias = array_ref(wide)}), HasSubstr("'wide': f64"));
  EXPECT_THROW(convolve_backward_data(ctx, x, images<float>("w", 3, 3, 1, 1), x), alias_error);
  EXPECT_THROW(
      convolve_backward_weights(ctx, x, dy, w, {.bias = array_ref(Kokkos::subview(w, 0, 0, 0, std::pair{0, 3}))}),
      error);
  EXPECT_THAT(message_of<shape_error>([&] {
                convolve_backward_data(ctx, images<float>("dy", 2, 4, 0, 9), images<float>("w", 4, 3, 9, 1), x);
              }),
              HasSubstr("the image with its padding is not smaller than the filter"));
}

}  // namespace
}  // namespace prumo
