// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/operation_case.hpp>
#include <prumo/philox.hpp>

#include <algorithm>

namespace prumo::cases {

double input_values::at(std::size_t which, std::int64_t index) const {
  return with_stored_type(type_, [&]<class T>(T) {
    return static_cast<double>(random::uniform<T>(seed_, which, static_cast<std::uint64_t>(index)));
  });
}

std::int64_t input_values::index_at(std::size_t which, std::int64_t index, std::int64_t below) const {
  return random::index_below(seed_, which, static_cast<std::uint64_t>(index), below);
}

void input_values::read(std::size_t which, std::int64_t begin, std::span<double> out) const {
  with_stored_type(type_, [&]<class T>(T) {
    constexpr std::int64_t per_block = random::values_per_block<T>;
    const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
    for (std::int64_t block = begin / per_block; block * per_block < end; ++block) {
      const random::philox_block words = random::philox4x32_10(seed_, which, static_cast<std::uint64_t>(block));
      const std::int64_t first = std::max(begin, block * per_block);
      const std::int64_t last = std::min(end, (block + 1) * per_block);
      for (std::int64_t index = first; index < last; ++index) {
        out[static_cast<std::size_t>(index - begin)] =
            static_cast<double>(random::uniform_from<T>(words, static_cast<int>(index - block * per_block)));
      }
    }
  });
}

}  // namespace prumo::cases
