// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crossover/crossover.hpp"

#include "plan/plan_selection.hpp"
#include "reports/result_cells.hpp"
#include "terminal/program_error.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Most bisections of one workload: five for each of the places that data of one GPU may be in, against one host.
constexpr std::size_t most_refinements = 15;

/// A search on its way.
class search {
 public:
  search(const crossover_workload& workload, const worker_fleet& fleet, point_measurer& measurer,
         results_writer& writer, const crossover_setting& setting)
      : workload_(workload), fleet_(fleet), measurer_(measurer), writer_(writer), setting_(setting) {}

  crossover_curves run() {
    std::vector<double> sizes = coarse_sizes(workload_.smallest, workload_.largest, workload_.factor, workload_.round);
    case_seconds_ = seconds_for_a_case(sizes.size());
    std::swap(sizes[std::min<std::size_t>(1, sizes.size() - 1)], sizes.back());  // both ends first
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i > 1 && seconds_until(setting_.deadline) < 0) {
        curves_.notes.push_back(
            fmt::format("{}: time ran out before {} of {} sizes were measured; give a longer --time-budget",
                        workload_.name, sizes.size() - i, sizes.size()));
        break;
      }
      measure(sizes[i]);
    }
    for (std::size_t i = 0; i < most_refinements && seconds_until(setting_.deadline) > 0; ++i) {
      const auto next = next_in_any_bracket();
      if (!next) break;
      measure(*next);
    }
    if (seconds_until(setting_.deadline) < 0 && next_in_any_bracket()) {
      curves_.notes.push_back(
          fmt::format("{}: time ran out before every break-even was narrowed down to {}; give a longer --time-budget",
                      workload_.name, format_percent(100 * (setting_.tolerance - 1))));
    }
    return std::move(curves_);
  }

 private:
  /// Half of the time for sampling: the other half goes to allocation, verification and brackets.
  [[nodiscard]] double seconds_for_a_case(std::size_t sizes) const {
    constexpr double least = 0.02;
    constexpr std::size_t places = 3;  // resident, pinned, pageable
    std::size_t cases = 0;
    for (const fleet_device& device : fleet_.devices()) cases += has_transfers(device.summary) ? places : 1;
    cases *= workload_.parts(workload_.smallest).size() * (sizes + most_refinements / 2);
    const double seconds = 0.5 * setting_.seconds / static_cast<double>(std::max<std::size_t>(1, cases));
    return std::min(std::max(seconds, least), setting_.case_limit);
  }

  void measure(double size) {
    tried_.push_back(size);
    std::vector<std::vector<json>> entries;
    try {
      for (const plan_options& part : workload_.parts(size)) {
        entries.push_back(measurer_.measure(part, case_seconds_, setting_.deadline));
      }
    } catch (const program_error& error) {
      // Later sizes may not fit, and a worker may be gone; a wrong name is wrong from the start.
      if (error.code() == exit_code::wrong_usage && curves_.series.empty()) throw;
      curves_.notes.push_back(fmt::format("{} {}: {}", workload_.name, workload_.text(size), error.what()));
      return;
    }
    std::vector<json> whole = entries.front();
    if (workload_.compose) {
      whole = workload_.compose(size, entries);
      for (const json& entry : whole) writer_.add(entry);
      writer_.end_group();
    }
    for (const json& entry : whole) store(size, entry);
  }

  void store(double size, const json& entry) {
    const std::string id = text_of(field(entry, "/device"));
    const auto device = std::ranges::find(fleet_.devices(), id, &fleet_device::id);
    const bool own_memory = device != fleet_.devices().end() && has_transfers(device->summary);
    const std::string data = data_cell(entry);
    const std::string asked = text_of(field(entry, "/data"));
    if (own_memory && !setting_.data.empty() && std::ranges::find(setting_.data, asked) == setting_.data.end()) return;
    auto place = std::ranges::find_if(curves_.series,
                                      [&](const crossover_series& it) { return it.device == id && it.data == data; });
    if (place == curves_.series.end()) {
      place = curves_.series.insert(curves_.series.end(), crossover_series{id, data, own_memory, {}});
    }
    if (const auto seconds = waiting_seconds(entry)) {
      place->seconds[size] = *seconds;
      return;
    }
    const std::string reason = text_of(field(entry, "/reason"));
    curves_.notes.push_back(fmt::format("{} {} {}: {}: {}", workload_.name, workload_.text(size), place->label(),
                                        text_of(field(entry, "/status")), reason));
  }

  [[nodiscard]] std::optional<double> next_in_any_bracket() const {
    for (const crossover_series& challenger : curves_.series) {
      for (const crossover_series& other : curves_.series) {
        if (!challenger.own_memory || other.own_memory) continue;
        const auto next =
            next_size(crossover_curves::ratios(challenger, other), setting_.tolerance, tried_, workload_.round);
        if (next) return next;
      }
    }
    return std::nullopt;
  }

  const crossover_workload& workload_;
  const worker_fleet& fleet_;
  point_measurer& measurer_;
  results_writer& writer_;
  const crossover_setting& setting_;
  double case_seconds_ = 0;
  std::vector<double> tried_;
  crossover_curves curves_;
};

}  // namespace

crossover_workload operation_workload(const std::string& op, const plan_options& common, const size_range& bytes) {
  constexpr double kibibyte = 1024;
  crossover_workload workload;
  workload.name = op;
  workload.title = fmt::format("{} ({}, {})", op, common.dtypes.front(), common.caches.front());
  workload.axis = "bytes of one array";
  workload.dispatch = common.dispatches.front();
  workload.smallest = bytes.smallest > 0 ? bytes.smallest : 4 * kibibyte;
  workload.largest = bytes.largest > 0 ? bytes.largest : 64 * kibibyte * kibibyte;
  workload.round = [](double size) { return 64 * std::max(1.0, std::round(size / 64)); };  // whole elements of any type
  workload.text = format_bytes_rounded;
  workload.parts = [op, common](double size) {
    plan_options part = common;
    part.ops = {op};
    part.sizes = {static_cast<std::uint64_t>(size)};
    return std::vector{part};
  };
  return workload;
}

std::string crossover_series::label() const { return own_memory ? device + ' ' + data : device; }

std::vector<ratio_point> crossover_curves::ratios(const crossover_series& challenger, const crossover_series& other) {
  std::vector<ratio_point> points;
  for (const auto& [size, seconds] : challenger.seconds) {
    const auto beside = other.seconds.find(size);
    if (beside != other.seconds.end()) points.push_back({size, seconds / beside->second});
  }
  return points;
}

json crossover_curves::crossings(const crossover_workload& workload) const {
  json list = json::array();
  for (const crossover_series& challenger : series) {
    for (const crossover_series& other : series) {
      if (!challenger.own_memory || other.own_memory) continue;
      json sizes = json::array();
      const std::vector<ratio_point> points = ratios(challenger, other);
      for (const crossing& it : find_crossings(points)) {
        sizes.push_back({{"size", it.size}, {"low", it.low}, {"high", it.high}, {"overtakes", it.challenger_wins}});
      }
      json faster;  // unknown without a common size
      if (!points.empty()) faster = points.back().ratio <= 1;
      list.push_back({{"op", workload.name},
                      {"dispatch", workload.dispatch},
                      {"device", challenger.device},
                      {"data", challenger.data},
                      {"other", other.device},
                      {"break_even", std::move(sizes)},
                      {"faster_at_largest", std::move(faster)}});
    }
  }
  return list;
}

crossover_curves measure_crossover(const crossover_workload& workload, const worker_fleet& fleet,
                                   point_measurer& measurer, results_writer& writer, const crossover_setting& setting) {
  return search(workload, fleet, measurer, writer, setting).run();
}

}  // namespace prumo::bench
