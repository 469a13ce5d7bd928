// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/random_shapes.hpp"

#include "plan/plan_selection.hpp"
#include "rates/rates_and_shares.hpp"
#include "results/result_fields.hpp"
#include "terminal/program_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

/// Mixes all bits of a counter (splitmix64, by Steele, Lea and Flood, 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// 64 random bits of their own for each place, name and number.
std::uint64_t random_word(std::uint64_t seed, std::string_view op, std::uint64_t number, std::uint64_t draw) {
  std::uint64_t word = mixed(seed);
  for (const char letter : op) word = mixed(word ^ static_cast<unsigned char>(letter));
  return mixed(mixed(word ^ number) ^ draw);
}

/// Extents of few axes may be long, as those of a thin matrix are. Of many axes nearly all shapes would be too large.
int most_bits(std::size_t axes) {
  constexpr int longest = 24, of_all = 54;
  return std::min(longest, of_all / static_cast<int>(std::max<std::size_t>(1, axes)));
}

/// Draws the cases of one operation.
class operation_shapes {
 public:
  operation_shapes(const random_shapes& which, const plan_options& common, const protocol::case_description& described)
      : seed_(which.seed), common_(common), described_(described) {
    const std::vector<std::string> usual = {"f32", "f16", "bf16"};
    for (const std::string& dtype : common.dtypes.empty() ? usual : common.dtypes) {
      if (std::ranges::find(described.dtypes, dtype) != described.dtypes.end()) dtypes_.push_back(dtype);
    }
  }

  [[nodiscard]] bool has_types() const { return !dtypes_.empty(); }

  /// The next case; nothing if none was found.
  std::optional<bench_plan> next(worker_fleet& fleet) {
    constexpr int most_attempts = 500;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      bench_plan plan = attempted(fleet);
      if (!plan.groups.empty() && fits(plan.groups.front()) && is_new(plan.groups.front())) return plan;
    }
    return std::nullopt;
  }

 private:
  bench_plan attempted(worker_fleet& fleet) {
    const std::uint64_t number = number_++;
    std::uint64_t draw = 0;
    plan_options options = common_;
    options.ops = {described_.op};
    options.dtypes = {dtypes_[random_word(seed_, described_.op, number, draw++) % dtypes_.size()]};
    if (options.data.empty()) options.data = {"resident"};
    const bool is_cold = random_word(seed_, described_.op, number, draw++) % 2 == 0;
    if (options.caches.empty()) options.caches = {is_cold ? "cold" : "hot"};
    const int bits = most_bits(described_.axes.size());
    options.shapes.emplace_back();
    for (const protocol::named_number& axis : described_.axes) {
      options.shapes.back()[axis.name] = static_cast<double>(random_extent(seed_, described_.op, number, draw++, bits));
    }
    try {
      return make_plan(options, fleet);
    } catch (const program_error&) {
      return {};  // no such shape, or none that fits into memory: another one is drawn
    }
  }

  static bool fits(const planned_group& group) {
    using limits = random_shape_limits;
    const double flops = cost_model::from_json(group.model).flops.value_or(0);
    return group.footprint_bytes >= limits::least_bytes && group.footprint_bytes <= limits::most_bytes &&
           flops <= limits::most_flops;
  }

  bool is_new(const planned_group& group) {
    return seen_.insert(group.dtype + group.cases.front().cache + named_values(group.shape)).second;
  }

  std::uint64_t seed_;
  const plan_options& common_;
  const protocol::case_description& described_;
  std::vector<std::string> dtypes_;
  std::uint64_t number_ = 0;
  std::set<std::string> seen_;
};

const protocol::case_description* description_of(const std::string& op, const worker_fleet& fleet) {
  for (const fleet_device& device : fleet.devices()) {
    if (const auto* described = fleet.find_case(device, op)) return described;
  }
  return nullptr;
}

}  // namespace

std::uint64_t random_extent(std::uint64_t seed, std::string_view op, std::uint64_t number, std::uint64_t draw,
                            int most_bits) {
  const std::uint64_t word = random_word(seed, op, number, draw);
  const std::uint64_t leading = std::uint64_t{1} << (word % static_cast<std::uint64_t>(most_bits + 1));
  return leading + mixed(word) % leading;
}

bench_plan make_random_plan(const random_shapes& which, const plan_options& common, worker_fleet& fleet) {
  bench_plan whole;
  std::vector<operation_shapes> operations;
  for (const op_choice& chosen : choose_ops(common, fleet, whole.notes)) {
    const protocol::case_description* described = description_of(chosen.op, fleet);
    if (described == nullptr || described->axes.empty()) continue;
    operation_shapes shapes(which, common, *described);
    if (shapes.has_types()) operations.push_back(std::move(shapes));
  }
  for (std::size_t drawn = 0; drawn < which.count && !operations.empty(); ++drawn) {
    auto part = operations[drawn % operations.size()].next(fleet);
    if (!part) continue;
    for (planned_group& group : part->groups) {
      // Shapes of nearly one size share the probes of their ceilings.
      if (group.bytes_per_array && *group.bytes_per_array > 0) {
        group.probe_bytes = std::exp2(std::round(std::log2(*group.bytes_per_array)));
      }
      for (planned_case& it : group.cases) it.is_largest_kernel = false;
      whole.groups.push_back(std::move(group));
    }
  }
  if (whole.groups.empty()) {
    throw program_error(exit_code::wrong_usage, "--random-shapes: no operation has a shape within the limits");
  }
  return whole;
}

}  // namespace prumo::bench
