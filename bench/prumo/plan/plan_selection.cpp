// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan_selection.hpp"

#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

namespace prumo::bench {
namespace {

using nlohmann::json;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

bool contains(std::span<const std::string> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (!contains(list, name)) list.push_back(name);
}

/// One operation as all selected devices together know it.
struct known_op {
  const protocol::case_description* first = nullptr;
  std::vector<std::string> dtypes;
  std::vector<std::string> layouts;
  std::vector<std::string> implementations;
};

std::vector<known_op> known_ops(const worker_fleet& fleet) {
  std::vector<known_op> ops;
  for (const fleet_device& device : fleet.devices()) {
    if (!device.missing.empty()) continue;
    for (const protocol::case_description& described : fleet.worker(device.worker).hello().cases) {
      auto found = std::ranges::find_if(ops, [&](const known_op& it) { return it.first->op == described.op; });
      if (found == ops.end()) found = ops.insert(ops.end(), known_op{&described, {}, {}, {}});
      for (const auto& dtype : described.dtypes) add_once(found->dtypes, dtype);
      for (const auto& layout : described.layouts) add_once(found->layouts, layout);
      for (const auto& implementation : described.implementations) add_once(found->implementations, implementation);
    }
  }
  return ops;
}

std::vector<known_op> selected_ops(const plan_options& options, std::vector<known_op> ops) {
  std::vector<known_op> selected;
  const auto select = [&](const known_op& what) {
    const bool twice =
        std::ranges::any_of(selected, [&](const known_op& it) { return it.first->op == what.first->op; });
    if (!twice) selected.push_back(what);
  };
  for (const std::string& name : options.ops) {
    if (name == "all") {
      for (const known_op& it : ops) {
        if (it.first->kind == "op") select(it);
      }
      continue;
    }
    const auto found = std::ranges::find_if(ops, [&](const known_op& it) { return it.first->op == name; });
    if (found == ops.end()) {
      std::vector<std::string> names;
      for (const known_op& it : ops) names.push_back(it.first->op);
      const std::string unknown = unknown_name_message("operation", name, names);
      const bool is_sentence = unknown.ends_with('?') || unknown.ends_with('.');
      refuse_usage(fmt::format("--op: {}{} '--op all --list' shows all.", unknown, is_sentence ? "" : "."));
    }
    select(*found);
  }
  if (!options.ops.empty()) return selected;
  std::ranges::copy_if(ops, std::back_inserter(selected), [&](const known_op& it) {
    if (it.first->kind != "op") return false;
    const bool named = std::ranges::any_of(options.implementations, [&](const std::string& implementation) {
      return implementation == "all" || contains(it.implementations, implementation);
    });
    if (!options.implementations.empty() && !named) return false;
    return it.first->in_default_sweep || options.extent == sweep::full;
  });
  return selected;
}

/// Refuses names of `wanted` that no selected operation knows.
template <typename Names>
void check_known(std::string_view option, std::string_view what, const std::vector<std::string>& wanted,
                 const std::vector<known_op>& ops, Names names_of) {
  std::vector<std::string> known;
  for (const known_op& it : ops) {
    for (const std::string& name : names_of(it)) add_once(known, name);
  }
  for (const std::string& name : wanted) {
    if (name == "all" || contains(known, name)) continue;
    refuse_usage(fmt::format("{}: {}", option, unknown_name_message(what, name, known)));
  }
}

std::vector<std::string> names_of(const std::vector<protocol::named_number>& numbers) {
  std::vector<std::string> names;
  for (const protocol::named_number& it : numbers) names.push_back(it.name);
  return names;
}

using named_numbers = std::map<std::string, double>;

std::vector<std::string> keys(std::span<const named_numbers> maps) {
  std::vector<std::string> names;
  for (const named_numbers& values : maps) {
    for (const auto& [name, value] : values) add_once(names, name);
  }
  return names;
}

std::vector<std::uint64_t> sweep_sizes(sweep extent) {
  switch (extent) {
    case sweep::quick: return {2 * mebibyte, 32 * mebibyte};
    case sweep::normal: return {2 * mebibyte, 16 * mebibyte, 128 * mebibyte, 512 * mebibyte};
    case sweep::full: break;
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 2 * mebibyte; bytes <= 1024 * mebibyte; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

/// Own values where the user named some, everything for the full sweep, else the standard one where it exists.
std::vector<std::string> choose(const std::vector<std::string>& wanted, const std::vector<std::string>& known,
                                sweep extent, const char* standard) {
  if (!wanted.empty()) return wanted;
  if (known.empty()) return {standard};
  if (extent == sweep::full) return known;
  return {contains(known, standard) ? standard : known.front()};
}

/// The shapes that name an axis of an operation. If none does, the size alone says what is measured.
std::vector<named_numbers> shapes_for(const plan_options& options, const protocol::case_description& described) {
  std::vector<named_numbers> shapes;
  std::ranges::copy_if(options.shapes, std::back_inserter(shapes), [&](const named_numbers& shape) {
    return std::ranges::any_of(described.axes, [&](const auto& axis) { return shape.contains(axis.name); });
  });
  if (shapes.empty()) shapes.emplace_back();
  return shapes;
}

void choose_shape(const plan_options& options, const named_numbers& shape, const protocol::case_description& described,
                  op_choice& chosen, std::vector<std::string>& notes) {
  chosen.shape = json::object();
  bool complete = !described.axes.empty();
  bool all_named = complete;
  for (const protocol::named_number& axis : described.axes) {
    const auto named = shape.find(axis.name);
    if (named != shape.end()) {
      chosen.shape[axis.name] = static_cast<std::uint64_t>(named->second);
    } else {
      all_named = false;
      complete = complete && axis.fallback.has_value();
    }
  }
  // The shape says all: no size is needed, and defaults fill the rest.
  if (all_named || (complete && !chosen.shape.empty() && options.sizes.empty())) {
    if (!options.sizes.empty())
      add_once(notes, fmt::format("--size has no effect on {}: --shape gives all its axes", described.op));
    for (const protocol::named_number& axis : described.axes) {
      if (!chosen.shape.contains(axis.name)) {
        chosen.shape[axis.name] = static_cast<std::uint64_t>(*axis.fallback);
      }
    }
    chosen.sizes = {std::nullopt};
    return;
  }
  const auto sizes = options.sizes.empty() ? sweep_sizes(options.extent) : options.sizes;
  chosen.sizes.assign(sizes.begin(), sizes.end());
}

void check_values(const char* option, const std::vector<std::string>& values, const std::vector<std::string>& known) {
  for (const std::string& value : values) {
    if (!contains(known, value))
      refuse_usage(fmt::format("{}: {}", option, unknown_name_message("value", value, known)));
  }
}

}  // namespace

std::vector<op_choice> choose_ops(const plan_options& options, const worker_fleet& fleet,
                                  std::vector<std::string>& notes) {
  const std::vector<known_op> every = known_ops(fleet);
  check_known("--impl", "implementation", options.implementations, every,
              [](const known_op& it) { return it.implementations; });
  const std::vector<known_op> ops = selected_ops(options, every);
  check_known("--impl", "implementation", options.implementations, ops,
              [](const known_op& it) { return it.implementations; });
  check_known("--dtype", "type", options.dtypes, ops, [](const known_op& it) { return it.dtypes; });
  check_known("--layout", "layout", options.layouts, ops, [](const known_op& it) { return it.layouts; });
  check_known("--compute-mode", "compute mode", options.compute_modes, ops,
              [](const known_op& it) { return it.first->compute_modes; });
  check_known("--shape", "axis", keys(options.shapes), ops,
              [](const known_op& it) { return names_of(it.first->axes); });
  check_known("--set", "parameter", keys({&options.parameters, 1}), ops,
              [](const known_op& it) { return names_of(it.first->parameters); });
  std::vector<op_choice> choices;
  for (const known_op& it : ops) {
    op_choice chosen;
    chosen.op = it.first->op;
    chosen.arrays = it.first->arrays;
    chosen.dtypes = choose(options.dtypes, it.dtypes, options.extent, "f32");
    chosen.layouts = choose(options.layouts, it.layouts, options.extent, "right");
    chosen.compute_modes = choose(options.compute_modes, it.first->compute_modes, options.extent,
                                  it.first->compute_modes.empty() ? "strict" : it.first->compute_modes.front().c_str());
    chosen.parameters = json::object();
    for (const protocol::named_number& parameter : it.first->parameters) {
      const auto named = options.parameters.find(parameter.name);
      if (named != options.parameters.end()) chosen.parameters[parameter.name] = named->second;
    }
    for (const named_numbers& shape : shapes_for(options, *it.first)) {
      op_choice of_shape = chosen;
      choose_shape(options, shape, *it.first, of_shape, notes);
      choices.push_back(std::move(of_shape));
    }
  }
  return choices;
}

axis_choice choose_axes(const plan_options& options) {
  const bool full = options.extent == sweep::full;
  axis_choice choice{options.data,       !options.data.empty(),   options.host_memory, options.caches,
                     options.dispatches, options.implementations, options.tune};
  check_values("--data", choice.data, {"resident", "transferred"});
  check_values("--host-memory", choice.host_memory, {"pinned", "pageable"});
  check_values("--cache", choice.caches, {"cold", "hot"});
  check_values("--dispatch", choice.dispatches, {"recorded", "single"});
  if (choice.data.empty()) choice.data = {"resident", "transferred"};
  const bool brief = options.extent == sweep::quick && !choice.data_named;
  if (choice.host_memory.empty() && brief) choice.host_memory = {"pinned"};
  if (choice.host_memory.empty()) choice.host_memory = {"pinned", "pageable"};
  if (choice.caches.empty()) choice.caches = {"cold"};
  if (choice.dispatches.empty()) choice.dispatches = {"recorded"};
  if (full && options.caches.empty()) choice.caches = {"cold", "hot"};
  if (full && choice.implementations.empty()) choice.implementations = {"all"};
  return choice;
}

std::vector<std::string> data_for(const axis_choice& choice, const protocol::device_summary& device) {
  if (has_transfers(device) || choice.data_named) return choice.data;
  return {"resident"};
}

std::vector<std::optional<std::string>> implementations_for(const axis_choice& choice,
                                                            const protocol::case_description& described) {
  std::vector<std::optional<std::string>> chosen;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(chosen, std::optional(name)) == chosen.end()) chosen.emplace_back(name);
  };
  for (const std::string& name : choice.implementations) {
    if (name == "all") {
      for (const std::string& known : described.implementations) add(known);
    } else {
      add(name);
    }
  }
  constexpr const char* tuned = "tuned";
  if (chosen.empty() && choice.tune &&
      std::ranges::find(described.implementations, tuned) != described.implementations.end()) {
    add(tuned);
  }
  if (chosen.empty()) chosen.emplace_back(std::nullopt);
  return chosen;
}

}  // namespace prumo::bench
