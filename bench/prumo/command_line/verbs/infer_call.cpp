// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/measuring_arguments.hpp"
#include "command_line/options/net_values.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/results_arguments.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/infer.hpp"
#include "command_line/verbs/verb.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace prumo::bench {
namespace {

class infer_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    workers_.add_to(app);
    app.add_option(
           "--net", choice_.net,
           fmt::format("a net by name ({}; default lenet5), or its JSON file", fmt::join(nets::known_nets(), ", ")))
        ->type_name("NAME|FILE")
        ->group("What");
    app.add_option("--weights", choice_.weights,
                   "a safetensors file (default: weights that come with prumo, or random ones)")
        ->type_name("FILE")
        ->group("What");
    app.add_option("--data", choice_.data,
                   "a folder of IDX files under their usual names, or a file of images, plain or gzip (default: digits "
                   "that prumo draws)")
        ->type_name("DIR|FILE")
        ->group("What");
    app.add_option("--labels", choice_.labels, "the labels of a file of images (default: by the usual name beside it)")
        ->type_name("FILE")
        ->group("What");
    app.add_option("--digits", digits_, "how many digits are drawn where --data names no images (default 10000)")
        ->type_name("N")
        ->group("What");
    add_words(app, "--batch", batches_, "images of a call (default 100,1000,10000)", "LIST")->group("What");
    add_words(app, "--dtype", dtypes_, "types: f32, f64, f16, bf16 (default f32)", "LIST")->group("What");
    add_words(app, "--level", levels_,
              "op: the net's convolutions by themselves; layer: each step; net: the whole; program: a process of its "
              "own (default layer,net,program)",
              "LIST")
        ->group("What");
    add_words(app, "--transfer", transfers_,
              "where the images are when a call begins: resident (on the device), pinned or pageable (bytes in host "
              "memory of that kind, to which results come back). Default: resident, and pinned if the device has "
              "transfers",
              "LIST")
        ->group("What");
    add_words(app, "--impl", implementations_,
              "ways to run nets by name, or all (default: each worker's first): prumo has layers, PyTorch eager, "
              "channels_last and compiled",
              "LIST")
        ->group("What");
    app.add_flag("--quick", quick_, "fewer images, batches of 100 and 1000, in 15 seconds")->group("How long");
    measuring_.add_to(app, "30s");
    app.add_flag("--no-probe", no_probe_, "do not measure ceilings")->group("How");
    results_.add_to(
        app,
        {"continue the run in -o; keep finished results",
         "resume although host, build, libraries, driver, power limit or places of threads have changed; each result "
         "tells which run measured it",
         "print what would be measured, and measure nothing"});
  }

  exit_code run(std::vector<std::string> command) override {
    infer_options options;
    options.bench.common = workers_.read();
    options.bench.measure = read_measure();
    results_.read_into(options.bench);
    options.bench.command = std::move(command);
    options.choice = read_choice(options.bench.measure.seed);
    options.plan = read_plan();
    results_.check_resume();
    return run_infer(options);
  }

 private:
  [[nodiscard]] measure_options read_measure() const {
    constexpr double usual_seconds = 30, quick_seconds = 15;
    measure_options measure;
    measure.budget_seconds = quick_ ? quick_seconds : usual_seconds;
    measure.case_limit_seconds = 5;
    if (quick_) {
      measure.minimum_seconds = 0.03;
      measure.minimum_samples = 5;
    }
    measuring_.read_into(measure);
    measure.probe_ceilings = !no_probe_;
    measure.states = state_choice::none;
    return measure;
  }

  [[nodiscard]] net_choice read_choice(std::uint64_t seed) const {
    constexpr std::int64_t quick_digits = 2000;
    net_choice choice = choice_;
    choice.seed = seed;
    if (quick_) choice.digits = quick_digits;
    if (!digits_.empty()) choice.digits = read_digits(digits_, choice.data);
    if (!choice.labels.empty() && choice.data.empty()) {
      throw program_error(exit_code::wrong_usage, "--labels names labels without images; name these with --data FILE");
    }
    return choice;
  }

  [[nodiscard]] inference_plan read_plan() const {
    inference_plan plan;
    plan.batches_chosen = !batches_.empty();
    plan.batches = read_batches(batches_, quick_ ? "100,1000" : "100,1000,10000");
    plan.dtypes = read_net_types(dtypes_);
    const std::vector<std::string> levels =
        levels_.empty() ? std::vector<std::string>{"layer", "net", "program"} : split_list("--level", levels_);
    for (const std::string& level : levels) {
      check_choice("--level", level, {"op", "layer", "net", "program"});
      (level == "op" ? plan.ops : level == "layer" ? plan.layers : level == "net" ? plan.net : plan.program) = true;
    }
    plan.implementations = split_list("--impl", implementations_);
    const std::vector<std::string> transfers =
        transfers_.empty() ? std::vector<std::string>{"resident", "pinned"} : split_list("--transfer", transfers_);
    for (const std::string& from : transfers) {
      check_choice("--transfer", from, {"resident", "pinned", "pageable"});
      const image_placement placement = from == "resident" ? image_placement{} : image_placement{"transferred", from};
      if (std::ranges::find(plan.placements, placement) == plan.placements.end()) plan.placements.push_back(placement);
    }
    return plan;
  }

  worker_arguments workers_;
  results_arguments results_;
  measuring_arguments measuring_;
  net_choice choice_;
  std::vector<std::string> batches_, dtypes_, levels_, transfers_, implementations_;
  std::string digits_;
  bool quick_ = false, no_probe_ = false;
};

}  // namespace

const verb infer_verb{
    "infer", "the inference of convolutional nets: layers, whole nets, programs, accuracy",
    "Runs a convolutional net on the devices of this machine, and checks its results against the same net in higher "
    "precision. Measures each layer, the whole net and a program of its own, and tells the accuracy. Without any file "
    "it runs lenet5 on digits that it draws.",
    R"(Examples:
  prumo infer                                   lenet5 on drawn digits, within a minute
  prumo infer --net lenet5 --data mnist --weights lenet5.safetensors
                                                images and labels from files under their usual names
  prumo infer --net ece408-2020 --batch 10000   a course's net, with what others published beside
  prumo infer --net my.json --data t10k-images-idx3-ubyte.gz --weights my.safetensors
                                                a net of your own; docs/data.md tells how to write one
  prumo infer --dtype f32,f16 --level net --device cuda:0 --transfer pinned
                                                whole nets, from bytes in the host's memory to results there
  prumo infer --peers torch -o r.json           beside PyTorch, on the same images and weights
  prumo infer --peers torch,jax --impl all      and in every way in which each of them runs nets
  prumo infer -o r.json --resume                continue the run in r.json
  prumo compare r.json other.json               two runs beside each other

Exit codes: 0 done; 1 a result was wrong; 2 wrong usage or input; 3 this machine cannot (no device, too little memory, a
permission, a failure); 130 interrupted, the results file is valid.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<infer_call>(); }};

}  // namespace prumo::bench
