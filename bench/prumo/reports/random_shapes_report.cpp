// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/random_shapes_report.hpp"

#include "reports/result_cells.hpp"
#include "results/result_fields.hpp"
#include "terminal/shell_words.hpp"
#include "terminal/text_table.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// A case of one of prumo's devices, and of a peer if there is one.
struct compared_case {
  const json* own = nullptr;
  const json* peer = nullptr;
  double ratio = 0;  ///< the peer's time over prumo's; without a peer, the share of the roofline
};

/// All cases of an operation on a device, beside a peer's device or beside none.
struct compared_op {
  std::size_t cases = 0;
  std::vector<double> shares;  ///< of the roofline, in percent
  std::vector<compared_case> compared;
};

struct device_kind {
  std::string id, name;
  bool is_own = false;
  bool has_threads = false;  ///< a host, but for peers that cannot tell their threads, such as NumPy
  bool has_transfers = false;
};

/// Whether a peer's device can be compared with one of prumo's: both are the same processor, both tell their threads,
/// or both have memory of their own.
bool are_comparable(const device_kind& own, const device_kind& peer) {
  return own.name == peer.name || (own.has_threads && peer.has_threads) || (own.has_transfers && peer.has_transfers);
}

std::vector<device_kind> device_kinds(const json& document) {
  std::vector<device_kind> kinds;
  for (const json& device : document.at("devices")) {
    kinds.push_back({text_of(device.at("id")), text_of(field(device, "/name")),
                     is_own_backend(text_of(field(device, "/backend"))), !field(device, "/threads").is_null(),
                     field(device, "/transfers") == true});
  }
  return kinds;
}

std::optional<double> median_of(const json& result) {
  const auto median = number_of(field(result, "/time_s/median"));
  return result.at("status") == "ok" && median && *median > 0 ? median : std::nullopt;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

const json* result_of(const json& document, const std::string& device, const json& like) {
  for (const json& it : document.at("results")) {
    if (it.at("device") == device && it.at("key") == like.at("key")) return &it;
  }
  return nullptr;
}

/// Operation, device and peer.
using op_key = std::tuple<std::string, std::string, std::string>;

std::map<op_key, compared_op> compared_ops(const json& document) {
  const std::vector<device_kind> kinds = device_kinds(document);
  std::map<op_key, compared_op> ops;
  for (const device_kind& own : kinds) {
    if (!own.is_own) continue;
    std::vector<std::string> peers;
    for (const device_kind& it : kinds) {
      if (!it.is_own && are_comparable(own, it)) peers.push_back(it.id);
    }
    if (peers.empty()) peers.emplace_back();
    for (const json& result : document.at("results")) {
      if (result.at("device") != own.id) continue;
      for (const std::string& peer : peers) {
        compared_op& op = ops[{text_of(result.at("op")), own.id, peer}];
        const auto time = median_of(result);
        if (!time) continue;
        ++op.cases;
        const auto share = number_of(field(result, "/percent/roofline"));
        if (share) op.shares.push_back(*share);
        if (peer.empty()) {
          if (share) op.compared.push_back({&result, nullptr, *share / 100});
          continue;
        }
        const json* theirs = result_of(document, peer, result);
        const auto their_time = theirs == nullptr ? std::nullopt : median_of(*theirs);
        if (their_time) op.compared.push_back({&result, theirs, *their_time / *time});
      }
    }
  }
  return ops;
}

std::string summary_table(const std::map<op_key, compared_op>& ops, const text_style& style) {
  using align = text_table::align;
  using role = text_table::role;
  text_table table({{"operation", align::left},
                    {"device", align::left, role::axis},
                    {"cases", align::right},
                    {"median roofline", align::right},
                    {"peer", align::left, role::axis},
                    {"compared", align::right},
                    {"mean ratio", align::right},
                    {"least", align::right},
                    {"behind 5%", align::right},
                    {"behind 20%", align::right}});
  for (const auto& [key, op] : ops) {
    const auto& [name, device, peer] = key;
    std::vector<text_table::cell> cells = {{name},
                                           {device},
                                           {std::to_string(op.cases)},
                                           {op.shares.empty() ? "" : fmt::format("{:.0f}%", median(op.shares))}};
    if (!peer.empty() && !op.compared.empty()) {
      double logarithms = 0;
      for (const compared_case& it : op.compared) logarithms += std::log(it.ratio);
      const auto behind = [&](double share) {
        return std::ranges::count_if(op.compared, [&](const compared_case& it) { return it.ratio < 1 - share; });
      };
      const auto least = std::ranges::min_element(op.compared, {}, &compared_case::ratio);
      cells.insert(cells.end(),
                   {{peer},
                    {std::to_string(op.compared.size())},
                    {fmt::format("{:.2f}", std::exp(logarithms / static_cast<double>(op.compared.size())))},
                    {fmt::format("{:.2f}", least->ratio)},
                    {std::to_string(behind(0.05))},
                    {std::to_string(behind(0.20))}});
    }
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

/// The command that measures a case again.
std::string command_of(const compared_case& it) {
  std::string shape;
  for (const auto& [axis, extent] : it.own->at("shape").items()) {
    shape += fmt::format("{}{}={}", shape.empty() ? "" : ",", axis, extent.dump());
  }
  const auto text = [&](const char* name) { return shell_quoted(text_of(it.own->at(name))); };
  const std::string peer = it.peer == nullptr ? "" : " --peers " + shell_quoted(text_of(it.peer->at("device")));
  return fmt::format("prumo bench --device {}{} --op {} --shape {} --dtype {} --cache {} --data {}", text("device"),
                     peer, text("op"), shell_quoted(shape), text("dtype"), text("cache"), text("data"));
}

std::string worst_cases(const std::map<op_key, compared_op>& ops, const text_style& style) {
  constexpr std::size_t most = 10;
  std::vector<compared_case> all;
  for (const auto& [key, op] : ops) all.insert(all.end(), op.compared.begin(), op.compared.end());
  std::ranges::stable_sort(all, {}, &compared_case::ratio);
  if (all.size() > most) all.resize(most);
  std::string lines;
  for (const compared_case& it : all) {
    const auto time = [&](const json& result) { return seconds_cell(result.at("time_s").at("median"), style); };
    lines += it.peer == nullptr ? fmt::format("  {:.0f}%  {}", 100 * it.ratio, time(*it.own))
                                : fmt::format("  {:.2f}  {}, {} {}", it.ratio, time(*it.own),
                                              text_of(it.peer->at("device")), time(*it.peer));
    lines += fmt::format("  {}\n", command_of(it));
  }
  return lines;
}

}  // namespace

std::string random_shapes_report(const json& document, const text_style& style) {
  const std::map<op_key, compared_op> ops = compared_ops(document);
  const bool has_peers = std::ranges::any_of(ops, [](const auto& it) { return !std::get<2>(it.first).empty(); });
  std::string out = paragraph("All shapes of each operation", style, emphasis::heading) + summary_table(ops, style);
  if (has_peers) {
    out += paragraph(
        "Ratios are the peer's time over prumo's: below 1 prumo is slower. The mean is the geometric one. Behind: the "
        "number of shapes whose ratio is below 0.95 and 0.80.",
        style, emphasis::muted);
  }
  const std::string worst = worst_cases(ops, style);
  if (worst.empty()) return out;
  return out + '\n' +
         paragraph(has_peers ? "The worst shapes beside a peer, each with the command that measures it again"
                             : "The worst shapes by their share of the roofline, each with the command that measures "
                               "it again",
                   style, emphasis::heading) +
         worst;
}

}  // namespace prumo::bench
