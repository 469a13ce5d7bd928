// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/inference_run.hpp"

#include "ceilings/ceilings.hpp"
#include "inference/net_implementations.hpp"
#include "inference/program_run.hpp"
#include "measure/finished_results.hpp"
#include "measure/schedule.hpp"
#include "plan/plan.hpp"
#include "results/result_fields.hpp"
#include "terminal/interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// How many processes tell the time of a program.
constexpr int program_processes = 3;

/// The images that two lists of predictions put into different classes.
std::vector<std::int64_t> differing_images(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) numbers.push_back(static_cast<std::int64_t>(i));
  }
  return numbers;
}

/// The bandwidth that bounds work on these bytes is that of the cache if they stay there.
std::string cache_of(const fleet_device& device, const protocol::cost_model& model) {
  constexpr double share_of_cache = 0.25;
  const double cache = number_of(field(device.entry, "/facts/cache_llc_bytes")).value_or(0);
  return model.bytes.value_or(0) < share_of_cache * cache ? "hot" : "cold";
}

}  // namespace

inference_run::inference_run(worker_fleet& fleet, const net_inputs& inputs, results_writer& writer, progress& shown,
                             const measure_options& options, steady_time deadline)
    : fleet_(fleet), inputs_(inputs), writer_(writer), progress_(shown), options_(options), deadline_(deadline) {}

bool inference_run::has_final(const net_place& place, const std::string& kind) const {
  const json stub = net_result_stub(fleet_, inputs_, place, kind, "any");
  return std::ranges::any_of(writer_.results(), [&](const json& it) {
    for (const char* name : {"kind", "dtype", "shape", "device", "data", "host_memory", "net"}) {
      if (field(it, fmt::format("/{}", name).c_str()) != stub.at(name)) return false;
    }
    if (place.implementation && field(it, "/implementation") != *place.implementation) return false;
    return is_final(it);
  });
}

void inference_run::show(const std::string& what) {
  const bool limited = std::isfinite(options_.budget_seconds);
  progress_.update(what, done_, limited ? std::optional(std::max(0.0, seconds_until(deadline_))) : std::nullopt);
}

/// What each part of the current group may sample: the groups that are left share the time evenly.
double inference_run::seconds_for_a_part(std::size_t parts) const {
  if (!std::isfinite(options_.budget_seconds)) return options_.case_limit_seconds;
  constexpr double least = 0.01, sampling_share = 0.7;
  const double of_group =
      std::max(0.0, seconds_until(deadline_)) / static_cast<double>(std::max<std::size_t>(1, groups_left_));
  const double even = sampling_share * of_group / static_cast<double>(std::max<std::size_t>(1, parts));
  return std::clamp(even, least, std::max(least, options_.case_limit_seconds));
}

void inference_run::sample_in_turns(std::vector<open_net>& nets, double part_seconds) {
  struct turn {
    open_net* net;
    std::size_t part;
    timed_part& it() const { return net->parts()[part]; }
  };
  std::vector<turn> turns;
  for (open_net& net : nets) {
    for (std::size_t part = 0; part < net.parts().size(); ++part) turns.push_back({&net, part});
  }
  constexpr double most_of_share = 1.25;
  const pace chosen = choose_pace(part_seconds, rounds_of_a_share(1));
  const auto ask = [&](const turn& it, double seconds, bool discards) {
    throw_if_interrupted();
    if (it.it().open()) it.net->sample(it.it(), seconds, discards);
  };
  if (chosen.settle_seconds > 0) {
    for (const turn& it : turns) ask(it, chosen.settle_seconds, true);
  }
  const auto any_open = [&] { return std::ranges::any_of(nets, [](const open_net& it) { return it.any_open(); }); };
  for (std::size_t round = 0; any_open(); ++round) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const turn& it = turns[(first_of_round(round, turns.size()) + i) % turns.size()];
      ask(it, chosen.slice_seconds, false);
    }
    for (open_net& net : nets) net.end_round(most_of_share * part_seconds, chosen.slice_seconds);
  }
}

/// Devices may put an image into different classes only where the bounds of rounding leave that open.
void inference_run::compare_predictions(std::vector<open_net>& nets) {
  constexpr std::size_t most_checked = 100;
  for (std::size_t other = 1; other < nets.size(); ++other) {
    std::vector<std::int64_t> images = differing_images(nets.front().predictions(), nets[other].predictions());
    if (images.empty()) continue;
    const std::size_t count = images.size();
    images.resize(std::min(count, most_checked));
    if (nets.front().are_undecided(images) == true) continue;
    const std::string first = fleet_.devices()[nets.front().place().device].id;
    for (timed_part& it : nets[other].parts()) {
      if (it.step || it.record.ended()) continue;
      it.record.warn(
          fmt::format("{} images are of another class than with {}, beyond what rounding explains; the first "
                      "is image {}",
                      count, first, images.front()));
    }
  }
}

void inference_run::measure(const group& which, const inference_plan& plan) {
  std::vector<net_place> places;
  for (std::size_t device = 0; device < fleet_.devices().size(); ++device) {
    for (const auto& it : implementations_[device])
      places.push_back({device, which.dtype, which.batch, which.images, it});
  }
  std::vector<open_net> nets;
  nets.reserve(places.size());
  for (const net_place& place : places) {
    throw_if_interrupted();
    const fleet_device& of = fleet_.devices()[place.device];
    const bool is_resident = which.images.data == "resident";
    if (!is_resident && of.missing.empty() && !has_transfers(of.summary)) continue;
    const bool wants_net = plan.net && !has_final(place, "inference");
    const bool wants_steps = plan.layers && is_resident && !has_final(place, "layer");
    if (!wants_net && !wants_steps) {
      ++kept_;
      continue;
    }
    const std::string label = label_of(place);
    show(label + ": preparing");
    open_net& net = nets.emplace_back(fleet_, inputs_, place, wants_net, wants_steps, options_);
    show(label + ": verifying");
    if (options_.verify) net.verify();
    net.evaluate();
  }
  std::size_t parts = 0;
  for (open_net& net : nets) parts += net.parts().size();
  show(fmt::format("{} {}, {} images", inputs_.net().description.name, which.dtype, which.batch));
  compare_predictions(nets);
  sample_in_turns(nets, seconds_for_a_part(parts));
  for (open_net& net : nets) {
    net.close();
    store(net);
  }
  writer_.end_group();
}

void inference_run::store(open_net& net) {
  for (const timed_part& it : net.parts()) {
    const bool measured = !it.record.ended() && !it.record.samples().empty();
    json result = measured ? it.record.finish(it.why) : it.record.result();
    if (!it.step && !net.accuracy().is_null()) result["accuracy"] = net.accuracy();
    store(std::move(result), it.model, net.place().device);
  }
}

/// Fills in rates and shares. The plan of an operation is not needed for them, only its cost.
void inference_run::store(json result, const protocol::cost_model& model, std::size_t device) {
  planned_group costs;
  costs.op = result.at("op");
  costs.dtype = result.at("dtype");
  costs.compute_mode = result.at("compute_mode");
  costs.model = {{"bytes", or_null(model.bytes)},
                 {"flops", or_null(model.flops)},
                 {"elements", or_null(model.elements)},
                 {"unit", model.unit}};
  planned_case where;
  where.device = device;
  where.data = result.at("data");
  where.cache = cache_of(fleet_.devices()[device], model);
  const ceiling_store ceilings(fleet_, options_);
  const json checked = finished_result(costs, where, result, fleet_, ceilings);
  // An entry that breaks the format was replaced by one that says so, which lacks what only nets have.
  if (checked.at("status") == "failed" && result.at("status") == "ok") {
    result["status"] = "failed";
    result["reason"] = checked.at("reason");
    result["time_s"] = nullptr;
    result["verified"] = nullptr;
    writer_.add(std::move(result));
  } else {
    writer_.add(checked);
  }
}

void inference_run::measure_programs(const group& which) {
  for (std::size_t device = 0; device < fleet_.devices().size(); ++device) {
    for (const auto& it : implementations_[device]) measure_program_of({device, which.dtype, which.batch, {}, it});
  }
  writer_.end_group();
}

std::string inference_run::label_of(const net_place& place) const {
  const std::string& device = fleet_.devices()[place.device].id;
  return fmt::format("{} {}, {} images, {}", inputs_.net().description.name, place.dtype, place.batch, device) +
         (place.implementation ? " " + *place.implementation : "");
}

void inference_run::measure_program_of(const net_place& place) {
  if (has_final(place, "program")) {
    ++kept_;
    return;
  }
  json stub = net_result_stub(fleet_, inputs_, place, "program", inputs_.net().description.name);
  const auto on_step = [&](int number) {
    throw_if_interrupted();
    show(fmt::format("{}: program {} of {}", label_of(place), number + 1, program_processes));
  };
  stub["flops"]["model"] =
      static_cast<double>(inputs_.net().facts.flops_inside) * static_cast<double>(inputs_.images());
  writer_.add(measure_program(fleet_, inputs_, place, program_processes, std::move(stub), on_step));
}

inference_outcome inference_run::run(const inference_plan& plan) {
  std::vector<group> groups;
  for (const std::string& dtype : plan.dtypes) {
    for (const std::int64_t batch : plan.batches) {
      for (const image_placement& images : plan.placements) groups.push_back({dtype, batch, images});
    }
  }
  implementations_ = net_implementations(fleet_, plan.implementations);
  const bool times_parts = plan.net || plan.layers;
  progress_.start(groups.size());
  groups_left_ = groups.size();
  for (const group& it : groups) {
    throw_if_interrupted();
    if (times_parts) measure(it, plan);
    if (plan.program && it.images == plan.placements.front()) measure_programs(it);
    --groups_left_;
    ++done_;
  }
  progress_.clear();
  inference_outcome outcome;
  outcome.kept = kept_;
  for (const json& result : writer_.results()) {
    if (result.at("status") == "failed") ++(result.at("verified") == false ? outcome.wrong : outcome.failed);
    if (result.at("status") == "ok") ++outcome.measured;
    if (lacked_memory(result)) ++outcome.lacking_memory;
  }
  return outcome;
}

}  // namespace prumo::bench
