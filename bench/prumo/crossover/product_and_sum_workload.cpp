// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The workload of `prumo crossover` without --op: a matrix product and the sum of its elements.
#include "crossover/crossover.hpp"
#include "measure/point_measurement.hpp"
#include "results/result_fields.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Columns of the matrices: 30 for 70 rows, 3000 for 7000.
double columns_of(double rows) { return std::max(1.0, std::round(3 * rows / 7)); }

const json* find_entry(const std::vector<json>& entries, const json& device, std::string_view data,
                       const json& host_memory) {
  const auto found = std::ranges::find_if(entries, [&](const json& it) {
    return it.at("device") == device && it.at("data") == data && it.at("host_memory") == host_memory;
  });
  return found == entries.end() ? nullptr : &*found;
}

json sum_or_null(const json& a, const json& b) {
  const auto first = number_of(a);
  const auto second = number_of(b);
  return first && second ? json(*first + *second) : json();
}

void set_time(json& whole, std::vector<double> samples, const json& clock, double waiting) {
  const sample_summary summary = summarize(samples);
  whole["time_s"] = {{"median", summary.median},      {"p25", summary.p25}, {"p75", summary.p75},
                     {"samples", std::move(samples)}, {"stop", nullptr},    {"clock", clock}};
  whole["wall_s"] = waiting;
}

/// Both parts on the device: sample by sample, for they are independent of each other.
void add_resident(json& whole, const json& product, const json& sum) {
  const json& first = product.at("time_s").at("samples");
  const json& second = sum.at("time_s").at("samples");
  std::vector<double> samples;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    samples.push_back(first[i].get<double>() + second[i].get<double>());
  }
  set_time(whole, std::move(samples), product.at("time_s").at("clock"),
           *waiting_seconds(product) + *waiting_seconds(sum));
  whole["warnings"].push_back("composed: the times of gemm and sum were measured separately and added");
}

/// Both matrices go to the device, one number comes back; the product stays there.
void add_transferred(json& whole, const json& product, const json& sum, const json& resident_product,
                     const json& resident_sum) {
  const auto in = number_of(field(product, "/transfer/h2d_s"));
  const auto out = number_of(field(sum, "/transfer/d2h_s"));
  if (!in || !out) {
    whole["reason"] = "its copies were not measured";
    return;
  }
  const double seconds = *in + *waiting_seconds(resident_product) + *waiting_seconds(resident_sum) + *out;
  set_time(whole, {seconds}, "wall", seconds);
  whole["transfer"] = {{"h2d_s", *in},
                       {"d2h_s", *out},
                       {"h2d_bytes", field(product, "/transfer/h2d_bytes")},
                       {"d2h_bytes", field(sum, "/transfer/d2h_bytes")}};
  whole["warnings"].push_back(
      "composed: the copies of gemm's inputs and of the sum, and the resident times of both, were measured separately "
      "and added");
}

/// The entry of the whole for one of the product's.
json composed(double rows, const json& product, const std::vector<json>& products, const std::vector<json>& sums) {
  const auto m = static_cast<std::uint64_t>(rows);
  const auto k = static_cast<std::uint64_t>(columns_of(rows));
  json whole = blank_result();
  for (const char* name : {"dtype", "device", "data", "host_memory", "cache", "dispatch"})
    whole[name] = product.at(name);
  whole["op"] = "matmul_sum";
  whole["shape"] = {{"m", m}, {"n", m}, {"k", k}};
  const json& device = product.at("device");
  const bool resident = product.at("data") == "resident";
  const json* sum = find_entry(sums, device, product.at("data").get<std::string>(), product.at("host_memory"));
  const json* resident_product = find_entry(products, device, "resident", nullptr);
  const json* resident_sum = find_entry(sums, device, "resident", nullptr);
  for (const json* part : {&product, sum, resident_product, resident_sum}) {
    if (part != nullptr && part->at("status") == "ok") continue;
    whole["status"] = part == nullptr ? json("failed") : part->at("status");
    whole["reason"] = part == nullptr ? std::string("a part of it was not measured")
                                      : fmt::format("{}: {}", text_of(part->at("op")), text_of(part->at("reason")));
    whole["key"] = result_key(whole);
    return whole;
  }
  if (resident) {
    add_resident(whole, product, *sum);
  } else {
    add_transferred(whole, product, *sum, *resident_product, *resident_sum);
  }
  const json& implementation = product.at("implementation");
  if (implementation.is_string() && sum->at("implementation").is_string()) {
    whole["implementation"] = fmt::format("{} + {}", text_of(implementation), text_of(sum->at("implementation")));
  }
  const bool compared = product.at("verified").is_boolean() && sum->at("verified").is_boolean();
  if (compared) whole["verified"] = product.at("verified") == true && sum->at("verified") == true;
  const json counted = sum_or_null(field(product, "/flops/counted/total"), field(*sum, "/flops/counted/total"));
  whole["flops"]["model"] = sum_or_null(field(product, "/flops/model"), field(*sum, "/flops/model"));
  if (whole.at("time_s").is_object()) {
    whole["status"] = "ok";
    const double seconds = whole.at("time_s").at("median").get<double>();
    if (counted.is_number()) whole["rates"]["gflops"] = counted.get<double>() / seconds / 1e9;
    whole["rates"]["gelements"] = static_cast<double>(m * m) / seconds / 1e9;
  }
  whole["key"] = result_key(whole);
  return whole;
}

}  // namespace

crossover_workload product_and_sum_workload(const plan_options& common, const size_range& rows) {
  crossover_workload workload;
  workload.name = "matmul_sum";
  workload.title = "(x @ y.T).sum() of two m x k matrices, where k = 3/7 m";
  workload.axis = "rows m";
  workload.dispatch = common.dispatches.front();
  workload.smallest = rows.smallest > 0 ? rows.smallest : 70;
  workload.largest = rows.largest > 0 ? rows.largest : 7000;
  workload.factor = 2.2;  // the work grows with the third power
  workload.round = [](double size) { return std::max(1.0, std::round(size)); };
  workload.text = [](double size) { return fmt::format("{:.0f} x {:.0f}", size, columns_of(size)); };
  workload.parts = [common](double size) {
    plan_options product = common;
    product.ops = {"gemm"};
    product.shapes = {{{"m", size}, {"n", size}, {"k", columns_of(size)}}};
    product.parameters["trans_b"] = 1;
    plan_options sum = common;
    sum.ops = {"sum"};
    sum.shapes = {{{"n", size * size}}};
    return std::vector{product, sum};
  };
  workload.compose = [](double size, const std::vector<std::vector<json>>& parts) {
    std::vector<json> whole;
    for (const json& product : parts.at(0)) whole.push_back(composed(size, product, parts.at(0), parts.at(1)));
    return whole;
  };
  return workload;
}

}  // namespace prumo::bench
