// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which rows of which files are the same case: join_versions() and join_devices() of comparison.hpp.
#include "comparison/comparison.hpp"
#include "results/result_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Applies `use` to all rows of a side that belong to it.
template <typename Use>
void for_each_row(const comparison_side& side, Use use) {
  for (const comparison_source* source : side.sources) {
    for (const measurement& row : source->rows) {
      if (!side.device.empty() && row.text("/device") != side.device) continue;
      if (!side.implementation.empty() && row.text("/implementation") != side.implementation) continue;
      use(*source, row);
    }
  }
}

/// Cases in the order in which they first appear, with a cell for each side.
class case_collection {
 public:
  explicit case_collection(std::size_t sides) : sides_(sides) {}

  void add(const std::string& identity, std::size_t side, const measurement& row, const std::string& device,
           const std::string& implementation) {
    const auto [place, is_new] = places_.emplace(identity, cases_.size());
    if (is_new) {
      cases_.push_back({row.text("/key"), device, implementation, std::vector<case_cell>(sides_), {}});
    }
    cases_[place->second].cells[side].push_back(&row);
  }

  [[nodiscard]] std::vector<compared_case> take() { return std::move(cases_); }

 private:
  std::size_t sides_;
  std::vector<compared_case> cases_;
  std::unordered_map<std::string, std::size_t> places_;
};

bool is_lonely(const compared_case& it) { return std::ranges::count_if(it.cells, was_tried) < 2; }

/// True where all that was tried of a case are figures of publications.
bool is_published_only(const compared_case& it) {
  return std::ranges::none_of(it.cells, [](const case_cell& cell) {
    return was_tried(cell) && std::ranges::any_of(cell, [](const measurement* row) { return !row->published; });
  });
}

/// Where something was measured, what publications have beyond that is of no use: it meets nothing.
void set_unmet_publications_apart(comparison& of) {
  if (std::ranges::all_of(of.cases, is_published_only)) return;
  std::vector<compared_case> kept;
  for (compared_case& it : of.cases) {
    if (is_published_only(it)) {
      of.lonely.push_back({std::move(it), "", "published, but measured nowhere"});
    } else {
      kept.push_back(std::move(it));
    }
  }
  of.cases = std::move(kept);
}

/// Why a case that a side has was not measured there.
std::string status_text(const measurement& row, const std::string& label) {
  const std::string reason = row.text("/reason");
  // What follows the colon differs from case to case: how long this one would take.
  return fmt::format("{} in {}{}{}", row.text("/status"), label, reason.empty() ? "" : ": ",
                     reason.substr(0, reason.find(": ")));
}

/// Properties in which a case may differ from the one that it was meant to meet, the telling ones first.
struct property {
  const char* pointer;
  const char* name;
};
constexpr std::array<property, 11> properties{{{"/threads", "number of threads"},
                                               {"/cache", "cache"},
                                               {"/dispatch", "dispatch"},
                                               {"/compute_mode", "compute mode"},
                                               {"/data", "data"},
                                               {"/host_memory", "host memory"},
                                               {"/layout", "layout"},
                                               {"/dtype", "type"},
                                               {"/shape", "shape"},
                                               {"/parameters", "parameters"},
                                               {"/device", "device"}}};

std::string value_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.is_null() ? "-" : value.dump();
  return value.empty() ? "-" : named_values(value);
}

/// Splits off what has no partner, with the reason: the nearest case of another side and in what it differs.
void set_lonely_apart(comparison& of, bool by_device) {
  std::unordered_map<std::string, std::vector<const compared_case*>> by_operation;
  std::vector<compared_case> shared;
  std::vector<compared_case> lonely;
  for (compared_case& it : of.cases) (is_lonely(it) ? lonely : shared).push_back(std::move(it));
  for (const compared_case& it : lonely) by_operation[text_of(field(it.result(), "/op"))].push_back(&it);

  const auto side_of = [](const compared_case& it) {
    return static_cast<std::size_t>(std::ranges::find_if(it.cells, was_tried) - it.cells.begin());
  };
  for (const compared_case& it : lonely) {
    const std::size_t side = side_of(it);
    const std::string label = side < of.sides.size() ? of.sides[side].label : "";
    const auto untried =
        std::ranges::find_if(it.cells, [](const case_cell& cell) { return !cell.empty() && !was_tried(cell); });
    if (untried != it.cells.end()) {
      const auto place = static_cast<std::size_t>(untried - it.cells.begin());
      of.lonely.push_back({it, label, status_text(*untried->front(), of.sides[place].label)});
      continue;
    }
    const json& result = it.result();
    std::string reason;
    std::size_t least = properties.size();
    constexpr std::size_t most_candidates = 200;  // of an operation: a long list has no nearest case worth a search
    std::size_t tried = 0;
    for (const compared_case* other : by_operation[text_of(field(result, "/op"))]) {
      const std::size_t other_side = side_of(*other);
      if (other_side == side || other_side == of.sides.size()) continue;
      if (++tried > most_candidates) break;
      std::vector<const property*> different;
      for (const property& each : properties) {
        if (std::string_view(each.name) == "device" && !by_device) continue;
        if (field(result, each.pointer) != field(other->result(), each.pointer)) different.push_back(&each);
      }
      if (different.empty() || different.size() >= least) continue;
      least = different.size();
      if (least > 2) continue;  // nothing alike any more
      const property& first = *different.front();
      // Both of them give the same reason, so that it is counted once.
      const bool before = side < other_side;
      const json& one = before ? result : other->result();
      const json& two = before ? other->result() : result;
      reason = fmt::format("different {}: {} in {}, {} in {}", first.name, value_text(field(one, first.pointer)),
                           of.sides[std::min(side, other_side)].label, value_text(field(two, first.pointer)),
                           of.sides[std::max(side, other_side)].label);
    }
    of.lonely.push_back({it, label, reason.empty() ? "only in " + label : reason});
  }
  of.cases = std::move(shared);
}

/// Joins cases whose implementation has another name on the other side, where there is but one on each.
std::size_t pair_renamed(std::vector<compared_case>& cases) {
  std::map<std::string, std::array<std::vector<std::size_t>, 2>> left;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].cells[0].empty() == cases[i].cells[1].empty()) continue;
    left[cases[i].key + '\n' + cases[i].device][cases[i].cells[0].empty() ? 1 : 0].push_back(i);
  }
  std::vector<bool> merged(cases.size(), false);
  std::size_t count = 0;
  for (const auto& [identity, places] : left) {
    if (places[0].size() != 1 || places[1].size() != 1) continue;
    compared_case& before = cases[places[0].front()];
    compared_case& after = cases[places[1].front()];
    before.cells[1] = std::move(after.cells[1]);
    // A case that never came to an implementation is no change of it.
    if (before.implementation.empty()) {
      before.implementation = after.implementation;
    } else if (!after.implementation.empty()) {
      before.implementation += " -> " + after.implementation;
      ++count;
    }
    merged[places[1].front()] = true;
  }
  std::vector<compared_case> kept;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!merged[i]) kept.push_back(std::move(cases[i]));
  }
  cases = std::move(kept);
  return count;
}

/// Takes away the sides that share no case, and finds the base among the others.
void leave_out_unused(comparison& of, std::optional<std::size_t> base) {
  const auto is_used = [&](std::size_t side) {
    return std::ranges::any_of(of.cases, [&](const compared_case& it) { return was_tried(it.cells[side]); });
  };
  if (base && !is_used(*base)) {
    of.cases.clear();
    return;
  }
  std::vector<std::size_t> used;
  for (std::size_t side = 0; side < of.sides.size(); ++side) {
    if (is_used(side)) used.push_back(side);
  }
  std::vector<comparison_side> sides;
  for (const std::size_t side : used) sides.push_back(std::move(of.sides[side]));
  of.sides = std::move(sides);
  for (compared_case& it : of.cases) {
    std::vector<case_cell> cells;
    for (const std::size_t side : used) cells.push_back(std::move(it.cells[side]));
    it.cells = std::move(cells);
  }
  if (base) of.base = static_cast<std::size_t>(std::ranges::find(used, *base) - used.begin());
}

}  // namespace

comparison join_versions(comparison_side before, comparison_side after) {
  comparison of;
  of.mode = comparison_mode::versions;
  of.sides = {std::move(before), std::move(after)};
  case_collection collected(2);
  for (std::size_t side = 0; side < 2; ++side) {
    for_each_row(of.sides[side], [&](const comparison_source&, const measurement& row) {
      const std::string device = row.text("/device");
      const std::string implementation = row.text("/implementation");
      collected.add(fmt::format("{}\n{}\n{}", row.text("/key"), device, implementation), side, row, device,
                    implementation);
    });
  }
  of.cases = collected.take();
  if (const std::size_t renamed = pair_renamed(of.cases); renamed > 0) {
    of.notes.push_back(fmt::format("{} {} by another implementation than before; see the column `implementation`",
                                   renamed, renamed == 1 ? "case ran" : "cases ran"));
  }
  set_lonely_apart(of, true);
  return of;
}

comparison join_devices(std::vector<comparison_side> sides, std::optional<std::size_t> base) {
  comparison of;
  of.mode = comparison_mode::devices;
  of.sides = std::move(sides);
  case_collection collected(of.sides.size());
  for (std::size_t side = 0; side < of.sides.size(); ++side) {
    for_each_row(of.sides[side], [&](const comparison_source&, const measurement& row) {
      collected.add(row.text("/key"), side, row, "", "");
    });
  }
  of.cases = collected.take();
  std::size_t slower_ones = 0;
  for (compared_case& it : of.cases) {
    for (case_cell& cell : it.cells) {
      if (cell.size() < 2) continue;
      const auto rank = [](const measurement* row) {
        const bool good = row->ran() && field(row->result, "/verified") != false;
        return std::pair(!good, row->seconds().value_or(0));
      };
      const measurement* best = *std::ranges::min_element(cell, {}, rank);
      slower_ones += cell.size() - 1;
      cell = {best};
    }
  }
  if (slower_ones > 0) {
    of.notes.push_back(
        fmt::format("of several implementations on a device, the fastest correct one is shown, and {} others are not; "
                    "--impl all gives each a column, --impl NAME chooses one",
                    slower_ones));
  }
  set_unmet_publications_apart(of);
  set_lonely_apart(of, false);
  leave_out_unused(of, base);
  return of;
}

}  // namespace prumo::bench
