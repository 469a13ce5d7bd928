// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How digits are written: some ways for each, strokes through control points. x grows to the right from -32 to 32, y
/// downwards from -40 to 40. A stroke is a quadratic B-spline: it begins at its first point, ends at its last one, and
/// is drawn towards those in between. A point that is there twice makes a corner.

#include <array>
#include <cstdint>
#include <span>

namespace prumo::data {

struct stroke_point {
  std::int32_t x;
  std::int32_t y;
};

using stroke = std::span<const stroke_point>;
using strokes = std::span<const stroke>;

/// The ways in which a digit from 0 to 9 is written.
[[nodiscard]] std::span<const strokes> ways_of_writing(std::int64_t digit);

}  // namespace prumo::data
