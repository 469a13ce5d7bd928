// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace prumo::accuracy {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The values that a list names, out of all that exist.
template <class Value, class Name>
std::vector<Value> chosen(const std::string& option, const std::string& list, const std::vector<Value>& all,
                          const Name& name_of) {
  std::vector<Value> values;
  for (const std::string& name : split(list)) {
    const auto found = std::ranges::find_if(all, [&](Value value) { return name_of(value) == name; });
    if (found == all.end()) {
      std::string message = option;
      message.append(": there is no '").append(name).append("'; there are: ");
      for (const Value value : all) message.append(value == all.front() ? "" : ", ").append(name_of(value));
      throw usage_error(message);
    }
    if (std::ranges::find(values, *found) == values.end()) values.push_back(*found);
  }
  return values;
}

std::uint64_t number(const std::string& option, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    throw usage_error(option + ": expected a whole number from " + std::to_string(least) + " to " +
                      std::to_string(most) + ", got '" + text + "'");
  }
  return value;
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
  options chosen_options;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    std::string name = arguments[at];
    std::optional<std::string> given;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != std::string::npos) {
      given = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto value = [&] {
      if (given) return *given;
      if (++at == arguments.size()) throw usage_error(name + ": a value is missing");
      return arguments[at];
    };
    const bool takes_value = name == "--function" || name == "--dtype" || name == "--device" || name == "--stride" ||
                             name == "--samples" || name == "--seed" || name == "-o" || name == "--output";
    if (given && !takes_value) throw usage_error(name + ": it takes no value");
    if (name == "--function") {
      chosen_options.functions =
          chosen(name, value(), std::vector<function>(all_functions.begin(), all_functions.end()), function_name);
    } else if (name == "--dtype") {
      chosen_options.types = chosen(name, value(), options{}.types, dtype_name);
    } else if (name == "--device") {
      chosen_options.device = value();
    } else if (name == "--stride") {
      chosen_options.stride = number(name, value(), 1, std::uint64_t{1} << 32);
    } else if (name == "--samples") {
      chosen_options.samples = number(name, value(), 1, std::uint64_t{1} << 40);
    } else if (name == "--seed") {
      chosen_options.seed = number(name, value(), 0, ~std::uint64_t{0});
    } else if (name == "-o" || name == "--output") {
      chosen_options.output = value();
    } else if (name == "--list") {
      chosen_options.list = true;
    } else if (name == "--help" || name == "-h") {
      chosen_options.help = true;
    } else if (name == "--version") {
      chosen_options.version = true;
    } else {
      throw usage_error("there is no option '" + name + "'");
    }
  }
  return chosen_options;
}

std::string help_text(const std::string& program, const std::vector<std::string>& devices) {
  std::string known;
  for (const std::string& device : devices) known += (known.empty() ? "" : ", ") + device;
  return "usage: " + program + R"( [OPTIONS]

Evaluates prumo's functions of one argument on a device, over all 2^32 arguments of f32 and all 2^16 of f16 and bf16,
and over a seeded sample of f64 with the places that are hard, and tells the largest error, where it is, how many
results are correctly rounded, and whether NaN, infinities and zeros are where they belong. docs/accuracy.md explains
the reference and has the figures of some machines.

  --function LIST   of these, separated by commas: exp, log, sqrt, rsqrt, sigmoid, tanh, relu, gelu, gelu_tanh
  --dtype LIST      of f32, f64, f16, bf16
  --device NAME     )" +
         known + R"( (the first one)
  --stride N        every N-th argument of f32, f16 and bf16 only
  --samples N       arguments of f64, of each of three kinds (4194304)
  --seed N          of the sample (1)
  -o FILE           write the results as JSON (prumo.accuracy/1); - is standard output, in place of the table
  --list            what there is to measure and what prumo promises of it
  --help, --version

Arguments that begin with --kokkos- are Kokkos' own.

examples:
  )" + program +
         R"(                                    everything, in minutes
  )" + program +
         R"( --function exp,gelu --dtype f32    two functions over all floats
  )" + program +
         R"( --stride 1009 -o accuracy.json     a look at every thousandth argument

Exit codes: 0 all within what prumo promises; 1 something is not; 2 wrong usage; 3 this machine cannot.
)";
}

}  // namespace prumo::accuracy
