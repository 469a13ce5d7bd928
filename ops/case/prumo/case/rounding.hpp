// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The pieces that error bounds are made of. Notation and lemmas: Higham, "Accuracy and Stability of Numerical
/// Algorithms", 2nd edition, SIAM 2002, chapters 2 to 4.

#include <prumo/types.hpp>

namespace prumo::cases {

/// The distance between the values of a type around `value`: one unit in the last place, that of the smallest normal
/// number for subnormal values.
long double ulp(dtype type, long double value);

/// The type that values of `type` are computed in.
dtype compute_type(dtype type);

/// Half an ulp of 1: the largest relative error of one rounding to the type.
long double unit_roundoff(dtype type);

/// (1 - u)^-n - 1: what n roundings to `type`, one upon the other, add up to at most. Higham's gamma_n = n u / (1 - n
/// u), which is no less, means nothing where n u is 1 or more (lemma 3.1).
long double gamma(dtype type, double roundings);

/// The bound of a result of a function that is within `ulps` units in the last place of the compute type. If the
/// storage type is another one, the result was then rounded to it.
long double rounded_bound(dtype type, long double value, double ulps);

/// The bound of a result that lies within `absolute` of the exact value before it is rounded to the storage type,
/// where that is another than the compute type.
long double stored_bound(dtype type, long double value, long double absolute);

/// A parameter as a kernel for `type` sees it: rounded to the compute type.
long double as_computed(dtype type, double parameter);

}  // namespace prumo::cases
