// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/suites.hpp"

#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

/// Matrices of 512 x n in f32. The study's tables give the bytes of all arrays of an operation together. The three
/// arrays of add and mul have 6 to 96 MiB. The two of scale, sigmoid and tanh have 2 to 1024 MiB. Products are those of
/// 512 x n with n x 512, with the n of add.
suite theano_2017() {
  suite study;
  study.name = "theano-2017";
  study.reference = "theano-2017";
  study.tables = {{"Table 2: two input matrices", {"add", "mul", "gemm"}},
                  {"Table 3: one input matrix", {"scale", "sigmoid", "tanh"}}};
  constexpr double rows = 512;
  for (double n = 1024; n <= 16 * 1024; n *= 2) {
    for (const char* op : {"add", "mul"}) study.cases.push_back({op, "f32", {{"n", rows * n}}});
    study.cases.push_back({"gemm", "f32", {{"m", rows}, {"n", rows}, {"k", n}}});
  }
  for (double n = 512; n <= 256 * 1024; n *= 2) {
    for (const char* op : {"scale", "sigmoid", "tanh"}) study.cases.push_back({op, "f32", {{"n", rows * n}}});
  }
  return study;
}

/// A convolution of a course's net: square images and filters.
struct course_layer {
  double in_channels, side, out_channels, filter;
};

/// The convolutions that the students of ECE408 wrote, for the numbers of images that the course asks for.
suite course(const std::string& name, std::initializer_list<course_layer> layers) {
  suite study;
  study.name = study.reference = name;
  for (const course_layer& it : layers) {
    for (const double images : {100, 1000, 10000}) {
      study.cases.push_back({"convolution",
                             "f32",
                             {{"images", images},
                              {"in_channels", it.in_channels},
                              {"height", it.side},
                              {"width", it.side},
                              {"out_channels", it.out_channels},
                              {"filter_rows", it.filter},
                              {"filter_columns", it.filter}}});
    }
  }
  return study;
}

}  // namespace

std::span<const suite> suites() {
  static const std::vector<suite> all{theano_2017(), course("ece408-2019", {{1, 48, 6, 5}, {6, 22, 16, 5}}),
                                      course("ece408-2020", {{1, 86, 4, 7}, {4, 40, 16, 7}})};
  return all;
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const suite& it : suites()) names.push_back(it.name);
  return names;
}

const suite& find_suite(const std::string& name) {
  const auto found = std::ranges::find(suites(), name, &suite::name);
  if (found != suites().end()) return *found;
  throw program_error(exit_code::wrong_usage, "--suite: " + unknown_name_message("suite", name, suite_names()));
}

bench_plan make_suite_plan(const suite& which, const plan_options& common, worker_fleet& fleet) {
  bench_plan whole;
  std::optional<program_error> refusal;
  const auto note = [&](const std::string& text) {
    if (std::ranges::find(whole.notes, text) == whole.notes.end()) whole.notes.push_back(text);
  };
  for (const suite_case& it : which.cases) {
    plan_options options = common;
    options.ops = {it.op};
    options.dtypes = {it.dtype};
    options.shapes = {it.shape};
    if (options.data.empty()) options.data = {"resident"};
    try {
      bench_plan part = make_plan(options, fleet);
      std::ranges::move(part.groups, std::back_inserter(whole.groups));
      for (const std::string& text : part.notes) note(text);
    } catch (const program_error& error) {
      if (!refusal) refusal = error;
      note(fmt::format("{}: {} is left out: {}", which.name, it.op, error.what()));
    }
  }
  if (whole.groups.empty() && refusal) throw program_error(*refusal);
  return whole;
}

}  // namespace prumo::bench
