// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <prumo/serving/surroundings.hpp>

#include <cmath>
#include <cstdio>
#include <limits>

namespace prumo::accuracy {
namespace {

template <class... Values>
std::string printed(const char* form, Values... values) {
  char text[200];
  std::snprintf(text, sizeof(text), form, values...);
  return text;
}

std::string named(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return printed("%a", value);
}

const char* unit_of(function which) { return is_bounded_by_argument(which) ? "eps x" : "ulp"; }

/// Rounded down, so that 100 % means all.
std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  if (part == whole) return "100";
  return printed("%.3f", std::floor(1e5 * static_cast<double>(part) / static_cast<double>(whole)) / 1e3);
}

template <class T>
std::vector<double> special_arguments_of() {
  using C = compute_t<T>;
  const auto value = [](std::uint64_t bits) { return static_cast<double>(static_cast<C>(from_bits<T>(bits))); };
  const int fraction_bits = scalar_traits<T>::significand_bits - 1;
  const std::uint64_t normal = std::uint64_t{1} << fraction_bits;
  const std::uint64_t infinity = static_cast<std::uint64_t>(2 * format<T>::highest + 1) << fraction_bits;
  std::vector<double> values{std::numeric_limits<double>::quiet_NaN()};
  for (const std::uint64_t bits : {infinity, std::uint64_t{0}, std::uint64_t{1}, normal, infinity - 1}) {
    values.push_back(value(bits));
    values.push_back(-value(bits));
  }
  return values;
}

}  // namespace

std::vector<double> special_arguments(dtype type) {
  switch (type) {
    case dtype::f64: return special_arguments_of<double>();
    case dtype::f16: return special_arguments_of<f16>();
    case dtype::bf16: return special_arguments_of<bf16>();
    default: break;
  }
  return special_arguments_of<float>();
}

double argument_value(dtype type, std::uint64_t bits) {
  switch (type) {
    case dtype::f64: return from_bits<double>(bits);
    case dtype::f16: return static_cast<double>(static_cast<float>(from_bits<f16>(bits)));
    case dtype::bf16: return static_cast<double>(static_cast<float>(from_bits<bf16>(bits)));
    default: break;
  }
  return static_cast<double>(from_bits<float>(bits));
}

std::string table_header() {
  return "| function | type | arguments | largest error | at | promised | largest ulp | correctly rounded, % | "
         "undecided | "
         "wrong |\n|---|---|---|---|---|---|---|---|---|---|\n";
}

std::string table_line(const finding& it) {
  const bool by_argument = is_bounded_by_argument(it.which);
  const double at = argument_value(it.type, by_argument ? it.found.epsilons_at : it.found.ulps_at);
  std::string line = "| " + std::string(function_name(it.which)) + " | " + std::string(dtype_name(it.type)) + " | ";
  line += it.all_arguments ? "all 2^" + std::to_string(8 * dtype_size(it.type)) : std::to_string(it.found.arguments);
  line += printed(" | %.4f %s | %.9g | %g %s | %.4g | ", it.error(), unit_of(it.which), at,
                  promised(it.which, it.type, it.on_host), unit_of(it.which), it.found.ulps);
  line += percent(it.found.correct, it.found.arguments - it.found.undecided) + " | " +
          std::to_string(it.found.undecided) + " | ";
  line += it.found.wrong == 0 ? "0"
                              : std::to_string(it.found.wrong) + ", the first at " +
                                    printed("%.9g", argument_value(it.type, it.found.wrong_at));
  return line + (it.is_kept() ? " |\n" : " | NOT KEPT\n");
}

protocol::json document(const std::string& device, const std::vector<finding>& findings) {
  using protocol::json;
  json results = json::array();
  for (const finding& it : findings) {
    json specials = json::array();
    for (const auto& [x, y] : it.specials) specials.push_back({{"x", named(x)}, {"y", named(y)}});
    const std::uint64_t decided = it.found.arguments - it.found.undecided;
    const auto share =
        decided == 0 ? json() : json(static_cast<double>(it.found.correct) / static_cast<double>(decided));
    results.push_back(
        {{"function", std::string(function_name(it.which))},
         {"dtype", std::string(dtype_name(it.type))},
         {"arguments", it.found.arguments},
         {"all_arguments", it.all_arguments},
         {"error", it.error()},
         {"unit", is_bounded_by_argument(it.which) ? "epsilon_x" : "ulp"},
         {"promised", promised(it.which, it.type, it.on_host)},
         {"kept", it.is_kept()},
         {"largest_ulps", it.found.ulps},
         {"largest_ulps_at", named(argument_value(it.type, it.found.ulps_at))},
         {"largest_epsilon_x", it.found.epsilons},
         {"largest_epsilon_x_at", named(argument_value(it.type, it.found.epsilons_at))},
         {"correctly_rounded", share},
         {"undecided", it.found.undecided},
         {"wrong", it.found.wrong},
         {"wrong_at", it.found.wrong > 0 ? json(named(argument_value(it.type, it.found.wrong_at))) : json()},
         {"special_values", specials},
         {"seconds", it.seconds}});
  }
  return {{"schema", "prumo.accuracy/1"},
          {"prumo", protocol::prumo_version()},
          {"compiler", protocol::compiler_version()},
          {"build", protocol::build_description()},
          {"device", device},
          {"results", results}};
}

std::string promises(bool on_host) {
  std::string text = "| function | f32, f64 | f16, bf16 |\n|---|---|---|\n";
  for (const function which : all_functions) {
    text += "| " + std::string(function_name(which));
    for (const dtype type : {dtype::f32, dtype::f16}) {
      text += printed(" | %g %s", promised(which, type, on_host), unit_of(which));
    }
    text += " |\n";
  }
  return text;
}

}  // namespace prumo::accuracy
