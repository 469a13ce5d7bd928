// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/choice.hpp"

#include "comparison/context.hpp"
#include "results/result_fields.hpp"
#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"
#include "terminal/text.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace prumo::bench {
namespace {

/// Keeps the rows whose value is wanted, and refuses names that no row has.
void keep_named(std::vector<comparison_source>& sources, const std::vector<std::string>& wanted, const char* pointer,
                const char* what) {
  if (wanted.empty()) return;
  std::set<std::string> known;
  for (const comparison_source& source : sources) {
    for (const measurement& row : source.rows) known.insert(row.text(pointer));
  }
  known.erase("");
  const bool devices = std::string_view(pointer) == "/device";
  const auto fits = [&](const std::string& value, const std::string& name) {
    return value == name || (devices && value.substr(0, value.find(':')) == name);
  };
  for (const std::string& name : wanted) {
    if (std::ranges::any_of(known, [&](const std::string& value) { return fits(value, name); })) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    refuse_usage(sanitize(unknown_name_message(what, name, names)) + " No file has it.");
  }
  for (comparison_source& source : sources) {
    std::erase_if(source.rows, [&](const measurement& row) {
      const std::string value = row.text(pointer);
      return std::ranges::none_of(wanted, [&](const std::string& name) { return fits(value, name); });
    });
  }
}

/// The devices of a file that have rows, in the order of its list.
std::vector<std::string> devices_with_rows(const comparison_source& source) {
  std::set<std::string> present;
  for (const measurement& row : source.rows) present.insert(row.text("/device"));
  std::vector<std::string> ids;
  for (const auto& entry : source.devices) {
    std::string id = text_of(field(entry, "/id"));
    if (present.erase(id) > 0) ids.push_back(std::move(id));  // once, though it may stand there with other threads
  }
  return ids;
}

std::string file_name(const comparison_source& source) {
  return std::filesystem::path(source.name).filename().string();
}

/// How the files of a side of versions are called.
std::string side_name(const std::vector<const comparison_source*>& sources, bool whole_path) {
  const std::string first = whole_path ? sources.front()->name : file_name(*sources.front());
  return sources.size() == 1 ? first : fmt::format("{} and {} more", first, sources.size() - 1);
}

/// Takes out what is on a side twice: the same run counted again would look like a second one that agrees.
std::vector<const comparison_source*> without_repeats(const std::vector<const comparison_source*>& sources,
                                                      std::vector<std::string>& notes) {
  std::vector<const comparison_source*> kept;
  std::set<std::string> runs;
  for (const comparison_source* source : sources) {
    const std::string id = text_of(field(source->run, "/id"));
    if (runs.insert(id.empty() ? "file " + source->name : "run " + id).second) {
      kept.push_back(source);
    } else {
      notes.push_back(fmt::format("{}: this run is on this side already, and counts once", source->name));
    }
  }
  return kept;
}

void note_same_run(const std::vector<const comparison_source*>& one, const std::vector<const comparison_source*>& other,
                   std::vector<std::string>& notes) {
  for (const comparison_source* a : one) {
    for (const comparison_source* b : other) {
      const std::string id = text_of(field(a->run, "/id"));
      const bool same_name = a->name == b->name;
      if (!same_name && (id.empty() || id != text_of(field(b->run, "/id")))) continue;
      notes.push_back(same_name
                          ? fmt::format("{} is given twice: it is compared with itself", a->name)
                          : fmt::format("{} and {} hold the same run: it is compared with itself", a->name, b->name));
    }
  }
}

comparison versions_of(std::vector<const comparison_source*> before, std::vector<const comparison_source*> after) {
  std::vector<std::string> notes;
  before = without_repeats(before, notes);
  after = without_repeats(after, notes);
  note_same_run(before, after, notes);
  const bool whole = side_name(before, false) == side_name(after, false);
  comparison_side one{side_name(before, whole), before, "", ""};
  comparison_side other{side_name(after, whole), after, "", ""};
  if (one.label == other.label) {
    one.label += " (before)";
    other.label += " (after)";
  }
  comparison of = join_versions(std::move(one), std::move(other));
  of.notes.insert(of.notes.begin(), notes.begin(), notes.end());
  return of;
}

/// Gives sides of the same device the shortest addition that tells all of them apart.
void set_labels(std::vector<comparison_side>& sides) {
  std::map<std::string, std::vector<comparison_side*>> same;
  for (comparison_side& side : sides) {
    side.label = side.device + (side.implementation.empty() ? "" : ' ' + side.implementation);
    same[side.label].push_back(&side);
  }
  using addition = std::string (*)(const comparison_side&);
  static constexpr addition additions[] = {
      [](const comparison_side& side) { return text_of(field(side.sources.front()->run, "/host/name")); },
      [](const comparison_side& side) {
        return text_of(field(device_entry(*side.sources.front(), side.device), "/name"));
      },
      [](const comparison_side& side) { return file_name(*side.sources.front()); },
      [](const comparison_side& side) { return side.sources.front()->name; }};
  for (auto& [label, group] : same) {
    if (group.size() < 2) continue;
    bool told_apart = false;
    for (const addition& add : additions) {
      std::set<std::string> texts;
      for (const comparison_side* side : group) texts.insert(add(*side));
      told_apart = texts.size() == group.size() && !texts.contains("");
      if (!told_apart) continue;
      for (comparison_side* side : group) side->label += ' ' + add(*side);
      break;
    }
    for (std::size_t i = 0; i < group.size() && !told_apart; ++i) group[i]->label += fmt::format(" ({})", i + 1);
  }
}

std::vector<comparison_side> sides_of(const std::vector<const comparison_source*>& files, bool each_implementation) {
  std::vector<comparison_side> sides;
  for (const comparison_source* source : files) {
    for (const std::string& device : devices_with_rows(*source)) {
      std::vector<std::string> implementations{""};
      if (each_implementation) {
        implementations.clear();
        for (const measurement& row : source->rows) {
          const std::string name = row.text("/implementation");
          const bool known = std::ranges::find(implementations, name) != implementations.end();
          if (row.text("/device") == device && !name.empty() && !known) implementations.push_back(name);
        }
      }
      for (const std::string& name : implementations) sides.push_back({"", {source}, device, name});
    }
  }
  set_labels(sides);
  return sides;
}

std::size_t find_base(const std::vector<comparison_side>& sides, const std::string& name) {
  std::vector<std::size_t> found;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    labels.push_back(sides[i].label);
    if (sides[i].label == name) return i;
    if (sides[i].device == name || sides[i].implementation == name) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  refuse_usage(fmt::format("--base: '{}' is {}; there are: {}", sanitize(name),
                           found.empty() ? "none of the devices" : "more than one of them",
                           sanitize(fmt::format("{}", fmt::join(labels, ", ")))));
}

comparison devices_of(const comparison_request& request) {
  std::vector<comparison_side> sides = sides_of(request.files, request.each_implementation);
  const bool alone = sides.size() == 1;
  if (alone) sides = sides_of(request.files, true);
  if (sides.size() < 2) {
    const comparison_source& file = *request.files.front();
    refuse_usage(
        fmt::format("{}: has one device with one implementation{}, so there is nothing to compare; name a second file, "
                    "or measure more with `prumo bench --device` or `--impl all`",
                    sanitize(file.name), sides.empty() ? "" : " (" + sanitize(sides.front().label) + ")"));
  }
  const auto base = request.base.empty() ? std::nullopt : std::optional<std::size_t>(find_base(sides, request.base));
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < request.files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) note_same_run({request.files[j]}, {request.files[i]}, notes);
  }
  comparison of = join_devices(std::move(sides), base);
  of.notes.insert(of.notes.begin(), notes.begin(), notes.end());
  return of;
}

[[noreturn]] void refuse_nothing_shared(const comparison& of) {
  std::map<std::string, std::size_t> reasons;
  for (const lonely_case& it : of.lonely) ++reasons[it.reason];
  std::vector<std::pair<std::size_t, std::string>> order;
  order.reserve(reasons.size());
  for (const auto& [reason, count] : reasons) order.emplace_back(count, reason);
  std::ranges::sort(order, std::greater());
  std::string why;
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    why += fmt::format("{} {} ({} {})", i > 0 ? ";" : "", sanitize(fit(order[i].second, 160)), order[i].first,
                       order[i].first == 1 ? "case" : "cases");
  }
  refuse_usage(
      fmt::format("no case was measured on two sides, so nothing can be compared:{}. Measure the same operations, "
                  "sizes, types and modes on each",
                  why.empty() ? " the filters leave no case" : why));
}

}  // namespace

void keep_rows(std::vector<comparison_source>& sources, const row_filters& filters) {
  keep_named(sources, filters.ops, "/op", "operation");
  keep_named(sources, filters.dtypes, "/dtype", "type");
  keep_named(sources, filters.layouts, "/layout", "layout");
  keep_named(sources, filters.data, "/data", "data");
  keep_named(sources, filters.caches, "/cache", "cache state");
  keep_named(sources, filters.dispatches, "/dispatch", "dispatch");
  keep_named(sources, filters.compute_modes, "/compute_mode", "compute mode");
  keep_named(sources, filters.devices, "/device", "device");
  keep_named(sources, filters.implementations, "/implementation", "implementation");
  if (filters.sizes.empty()) return;
  std::set<std::uint64_t> seen;
  for (comparison_source& source : sources) {
    std::erase_if(source.rows, [&](const measurement& row) {
      const auto& bytes = field(row.result, "/bytes_per_array");
      if (!bytes.is_number_integer() || bytes < 0) return true;
      seen.insert(bytes.get<std::uint64_t>());
      return std::ranges::find(filters.sizes, bytes.get<std::uint64_t>()) == filters.sizes.end();
    });
  }
  if (std::ranges::any_of(sources, [](const comparison_source& it) { return !it.rows.empty(); })) return;
  std::vector<std::string> sizes;
  std::ranges::transform(seen, std::back_inserter(sizes), format_bytes);
  refuse_usage(fmt::format("--size: no file has arrays of these sizes; there are: {}",
                           sizes.empty() ? "none" : fmt::format("{}", fmt::join(sizes, ", "))));
}

comparison choose_comparison(const comparison_request& request) {
  comparison of;
  if (!request.to.empty()) {
    of = versions_of(request.files, request.to);
  } else {
    std::vector<std::string> shared;
    std::vector<std::string> elsewhere;
    if (request.files.size() == 2 && request.base.empty() && !request.each_implementation) {
      const std::vector<std::string> others = devices_with_rows(*request.files[1]);
      for (const std::string& device : devices_with_rows(*request.files[0])) {
        if (std::ranges::find(others, device) == others.end()) continue;
        const bool same = is_same_device(*request.files[0], *request.files[1], device);
        (same ? shared : elsewhere).push_back(device);
      }
    }
    if (!shared.empty()) {
      of = versions_of({request.files[0]}, {request.files[1]});
      of.notes.push_back(
          fmt::format("both files have {} of the same machine, so they are compared as two versions; --base DEVICE "
                      "shows devices side by side instead",
                      fmt::join(shared, ", ")));
    } else {
      of = devices_of(request);
      if (!elsewhere.empty()) {
        of.notes.push_back(
            fmt::format("{} is not the same device in both files, so they stand side by side; to compare them as two "
                        "versions: prumo compare {} --to {}",
                        fmt::join(elsewhere, ", "), request.files[0]->name, request.files[1]->name));
      }
    }
  }
  if (of.cases.empty()) refuse_nothing_shared(of);
  return of;
}

}  // namespace prumo::bench
