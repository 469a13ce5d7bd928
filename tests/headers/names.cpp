// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names of prumo beside those of the standard library.
#include <prumo/prumo.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

using namespace std;    // NOLINT(google-build-using-namespace)
using namespace prumo;  // NOLINT(google-build-using-namespace)

float names_are_not_ambiguous();
float names_are_not_ambiguous() {
  array<float, 3> numbers{};
  vector<float> others(numbers.size());
  fill(numbers.begin(), numbers.end(), 2.0f);
  copy(numbers.begin(), numbers.end(), others.begin());
  transform(numbers.begin(), numbers.end(), others.begin(), [](float number) { return sqrt(number); });
  const array_ref described(others.data(), dtype::f32, {3});
  return max(others[0], static_cast<float>(described.size()));
}
