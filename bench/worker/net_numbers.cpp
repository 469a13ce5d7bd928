// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "net_numbers.hpp"

#include <prumo/context_ref.hpp>
#include <prumo/images.hpp>

#include <cstring>

namespace prumo::worker {

void write_numbers(dtype type, std::span<const float> numbers, std::byte* to) {
  detail::with_scalar(type, [&]<class T> {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const T number(numbers[i]);
      std::memcpy(to + i * sizeof(T), &number, sizeof(T));
    }
  });
}

std::vector<double> read_numbers(dtype type, const std::byte* from, std::size_t count) {
  std::vector<double> numbers(count);
  detail::with_scalar(type, [&]<class T> {
    for (std::size_t i = 0; i < count; ++i) {
      T number;
      std::memcpy(&number, from + i * sizeof(T), sizeof(T));
      numbers[i] = static_cast<double>(number);
    }
  });
  return numbers;
}

std::vector<double> pixel_numbers(dtype type) {
  std::vector<double> numbers(256);
  detail::with_scalar(type, [&]<class T> {
    using compute = typename scalar_traits<T>::compute_type;
    for (std::size_t byte = 0; byte < numbers.size(); ++byte) {
      // A product of 8 bits is not so near to a tie of a 16-bit type that f32 would round it onto one.
      const auto number = static_cast<compute>(static_cast<double>(byte) * image_options{}.scale);
      numbers[byte] = static_cast<double>(T(number));
    }
  });
  return numbers;
}

}  // namespace prumo::worker
