// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/measuring_arguments.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/infer.hpp"
#include "command_line/verbs/verb.hpp"
#include <prumo/files/file_identity.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace prumo::bench {
namespace {

constexpr std::uint64_t most_images = 1'000'000'000;

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
              "where images lie when a call begins: resident (on the device), pinned, pageable (bytes in such host "
              "memory; results come back there). Default: resident, and pinned if the device has transfers",
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
    add_output(app, "-o,--output", output_, "write the results (JSON) to this file; - is standard output");
    add_output(app, "--csv", csv_, "also write the results as CSV, for spreadsheets");
    add_anonymous(app, anonymous_);
    CLI::Option* force = add_force(app, force_);
    CLI::Option* resume = app.add_flag("--resume", resume_, "continue the run in -o; keep finished results")
                              ->excludes(force)
                              ->group("Output");
    app.add_flag("--allow-mixed", allow_mixed_,
                 "resume although host, build, libraries, driver, power limit or threads have changed; each result "
                 "tells which run measured it")
        ->needs(resume)
        ->group("Output");
    app.add_flag("--list", list_, "print what would be measured, and measure nothing")->group("Output");
  }

  exit_code run(std::vector<std::string> command) override {
    infer_options options;
    options.bench.common = workers_.read();
    options.bench.measure = read_measure();
    options.bench.output = output_;
    options.bench.csv = csv_;
    options.bench.resume = resume_;
    options.bench.force = force_;
    options.bench.anonymous = anonymous_;
    options.bench.allow_mixed = allow_mixed_;
    options.bench.list_only = list_;
    options.bench.command = std::move(command);
    options.choice = read_choice(options.bench.measure.seed);
    options.plan = read_plan();
    if (resume_ && (output_.empty() || is_standard_output(output_))) {
      throw program_error(exit_code::wrong_usage, "--resume needs the results file to continue: name it with -o FILE");
    }
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
    constexpr std::uint64_t most_digits = 10'000'000;
    net_choice choice = choice_;
    choice.seed = seed;
    if (quick_) choice.digits = quick_digits;
    if (!digits_.empty()) {
      choice.digits = static_cast<std::int64_t>(read_whole_number("--digits", digits_, 1, most_digits));
    }
    if (!choice.labels.empty() && choice.data.empty()) {
      throw program_error(exit_code::wrong_usage, "--labels names labels without images; name these with --data FILE");
    }
    return choice;
  }

  [[nodiscard]] inference_plan read_plan() const {
    inference_plan plan;
    plan.batches_chosen = !batches_.empty();
    const std::vector<std::string> usual =
        quick_ ? std::vector<std::string>{"100,1000"} : std::vector<std::string>{"100,1000,10000"};
    for (const std::string& word : split_list("--batch", batches_.empty() ? usual : batches_)) {
      const auto batch = static_cast<std::int64_t>(read_whole_number("--batch", word, 1, most_images));
      if (std::ranges::find(plan.batches, batch) == plan.batches.end()) plan.batches.push_back(batch);
    }
    plan.dtypes = dtypes_.empty() ? std::vector<std::string>{"f32"} : split_list("--dtype", dtypes_);
    for (const std::string& dtype : plan.dtypes) check_choice("--dtype", dtype, {"f32", "f64", "f16", "bf16"});
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
  measuring_arguments measuring_;
  net_choice choice_;
  std::vector<std::string> batches_, dtypes_, levels_, transfers_, implementations_;
  std::string digits_, output_, csv_;
  bool quick_ = false, no_probe_ = false, resume_ = false, force_ = false, anonymous_ = false, allow_mixed_ = false,
       list_ = false;
};

}  // namespace

const verb infer_verb{
    "infer", "the inference of convolutional nets: layers, whole nets, programs, accuracy",
    "Runs a convolutional net on the devices of this machine, checks its results against the same net in higher "
    "precision, measures each layer, the whole net and a program of its own, and tells the accuracy. Without any file "
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
