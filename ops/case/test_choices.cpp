// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/test_choices.hpp>

#include <algorithm>
#include <numeric>

namespace prumo::cases {
namespace {

/// Nothing, one, around the lanes of a vector, around blocks and chunks.
const std::vector<std::int64_t> usual_extents = {0, 1, 2, 3, 5, 16, 31, 33, 64, 65, 127, 200, 257, 1000};
/// Of more than three axes, whose product would take a reference too long.
const std::vector<std::int64_t> small_extents = {0, 1, 2, 3, 5, 16, 31, 33, 64, 65, 127};
/// Around segments and chunks.
const std::vector<std::int64_t> long_extents = {4095, 4096, 4097, 16384, 16385, 50001};
const std::vector<double> usual_values = {0, 1, -0.75};

bool has_many_axes(const case_info& info) { return info.axes.size() > 3; }

const std::vector<std::int64_t>& extents_of(const case_info& info, const axis& each) {
  if (!each.test_extents.empty()) return each.test_extents;
  return has_many_axes(info) ? small_extents : usual_extents;
}

/// The extent of an axis while another one is long.
std::int64_t short_extent(const axis& each) {
  return each.test_extents.empty() ? 3 : each.test_extents[each.test_extents.size() / 2];
}

}  // namespace

specification default_choice(const case_info& info, dtype type, array_layout layout) {
  specification choice;
  choice.op = info.op;
  choice.type = type;
  choice.layout = layout;
  for (const parameter& each : info.values) choice.values.set(each.name, each.fallback_of(type, layout));
  choice.implementation = info.implementations.front();
  choice.compute_mode = info.compute_modes.front();
  return choice;
}

std::vector<shape> test_shapes(const case_info& info) {
  if (!info.test_shapes.empty()) return info.test_shapes;
  std::size_t longest = 0;
  for (const axis& each : info.axes) longest = std::max(longest, extents_of(info, each).size());
  std::vector<shape> shapes;
  const std::size_t rounds = info.axes.size() == 1 ? 1 : 2;
  for (std::size_t step = 0; step < rounds * longest; ++step) {
    shape extents;
    for (std::size_t place = 0; place < info.axes.size(); ++place) {
      const std::vector<std::int64_t>& tried = extents_of(info, info.axes[place]);
      // In steps that meet every extent, other ones for each axis.
      std::size_t stride = 2 * place + 1;
      while (std::gcd(stride, tried.size()) != 1) ++stride;
      extents.set(info.axes[place].name, tried[(step * stride + 3 * place * (step / longest + 1)) % tried.size()]);
    }
    shapes.push_back(extents);
  }
  for (const axis& stretched : info.axes) {
    if (!stretched.test_extents.empty()) continue;
    for (const std::int64_t extent : long_extents) {
      if (has_many_axes(info) && extent > 5000) break;
      shape extents;
      for (const axis& each : info.axes) extents.set(each.name, &each == &stretched ? extent : short_extent(each));
      shapes.push_back(extents);
    }
  }
  return shapes;
}

std::vector<parameters> test_parameters(const case_info& info, dtype type, array_layout layout) {
  const parameters defaults = default_choice(info, type, layout).values;
  std::vector<parameters> sets{defaults};
  for (const parameter& each : info.values) {
    for (const double value : each.test_values.empty() ? usual_values : each.test_values) {
      parameters changed = defaults;
      changed.set(each.name, value);
      if (!(changed == defaults)) sets.push_back(changed);
    }
  }
  return sets;
}

}  // namespace prumo::cases
