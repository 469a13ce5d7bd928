// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/measuring_arguments.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/results_arguments.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/bench.hpp"
#include "command_line/verbs/verb.hpp"
#include "plan/suites.hpp"
#include "statistics/run_plan.hpp"
#include "terminal/text.hpp"
#include "workers/thread_sweep.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

class bench_call : public verb_call {
 public:
  void add_options(CLI::App& app) override;
  exit_code run(std::vector<std::string> command) override;

 private:
  [[nodiscard]] plan_options read_plan() const;
  [[nodiscard]] measure_options read_measure() const;
  [[nodiscard]] std::size_t read_random_shapes() const;
  [[nodiscard]] std::optional<double> read_gate() const;
  [[nodiscard]] run_plan read_process_runs() const;

  worker_arguments workers_;
  results_arguments results_;
  measuring_arguments measuring_;
  std::vector<std::string> ops_, sizes_, shapes_, dtypes_, layouts_, data_, host_memory_, caches_, dispatches_,
      implementations_, compute_modes_, parameters_, references_, threads_;
  std::string random_shapes_, suite_, count_limit_, power_states_, against_, gate_, process_runs_;
  bool quick_ = false, full_ = false, no_probe_ = false, tune_ = false;
};

void bench_call::add_options(CLI::App& app) {
  workers_.add_to(app);
  CLI::Option* suite = app.add_option("--suite", suite_,
                                      fmt::format("the cases of a published study: {}", fmt::join(suite_names(), ", ")))
                           ->type_name("NAME")
                           ->group("What");
  add_words(app, "--threads", threads_,
            "numbers of host threads, for example 1,2,4; cores: 1, 2, 4, ... up to all cores; numa: whole NUMA "
            "domains. Each number is measured by its own process, bound to its cores",
            "LIST")
      ->excludes(suite)
      ->group("What");
  add_words(app, "--op", ops_, "operations, or all; --list prints them (default: those of the sweep)", "LIST")
      ->excludes(suite)
      ->group("What");
  CLI::Option* random = app.add_option("--random-shapes", random_shapes_,
                                       "this number of random shapes instead of sizes; --seed chooses others. The "
                                       "result is a summary of each operation, and the worst shapes")
                            ->excludes(suite)
                            ->type_name("N")
                            ->group("What");
  add_words(app, "--size", sizes_, "size of one array: 2MiB,8MiB, or 2MiB:1GiB in doubling steps; 2MB means 2MiB",
            "SIZES")
      ->excludes(suite)
      ->excludes(random)
      ->group("What");
  add_words(app, "--shape", shapes_,
            "extents of single axes: rows=100,columns=1024. Each further --shape is another shape", "AXIS=N,...")
      ->excludes(suite)
      ->excludes(random)
      ->group("What");
  add_words(app, "--dtype", dtypes_, "types: f32, f64, f16, bf16, f8_e4m3 (default f32)", "LIST")
      ->excludes(suite)
      ->group("What");
  add_words(app, "--layout", layouts_, "right, left, strided (default right)", "LIST")->group("What");
  add_words(app, "--impl", implementations_, "implementations by name, or all (default: each worker's first)", "LIST")
      ->group("What");
  app.add_flag("--tune", tune_,
               "autotune matrix products first, if a library has several algorithms (the same as --impl tuned for "
               "operations that have it)")
      ->group("What");
  add_words(app, "--compute-mode", compute_modes_, "compute modes (default: the first, strict)", "LIST")->group("What");
  add_words(app, "--set", parameters_, "parameters: alpha=2,trans_a=1", "NAME=NUMBER,...")->group("What");
  add_words(app, "--data", data_, "resident, transferred (default: both, if the device has transfers)", "LIST")
      ->group("What");
  add_words(app, "--host-memory", host_memory_,
            "host memory of transferred data: pinned, pageable (default: both; with --quick pinned)", "LIST")
      ->group("What");
  add_words(app, "--cache", caches_,
            "cold: arrays come from memory; hot: they stay in the cache if they fit (default cold)", "LIST")
      ->group("What");
  add_words(app, "--dispatch", dispatches_,
            "recorded: short calls of a GPU are recorded once and replayed, so that the device's own time is measured; "
            "single: the host launches each call, as programs do (default recorded)",
            "LIST")
      ->group("What");
  CLI::Option* quick = app.add_flag("--quick", quick_, "two sizes in 15 seconds")->group("How long");
  app.add_flag("--full", full_, "every operation, type, layout, size and mode")
      ->excludes(quick)
      ->excludes(random)
      ->group("How long");
  measuring_.add_to(app, "2min; 1.5s for each of random shapes");
  app.add_option("--power-states", power_states_,
                 "which cases are also measured as a burst after idling and as sustained work: largest (default: the "
                 "largest size of each operation, on GPUs), all, none")
      ->type_name("CHOICE")
      ->group("How");
  app.add_flag("--no-probe", no_probe_, "do not measure ceilings")->group("How");
  app.add_option("--count-limit", count_limit_,
                 "largest number of operations for which flops are counted by running the kernel; beyond it, its "
                 "closed form is used")
      ->type_name("N")
      ->group("How");
  app.add_option("--against", against_,
                 "another build (its folder, install prefix or worker), measured in turns with this one")
      ->type_name("OTHER_BUILD")
      ->group("Two builds");
  app.add_option("--runs", process_runs_,
                 "number of times that everything is measured, each by fresh processes (default 1; with --against 3). "
                 "With --against 3:17 it begins with 3 and goes on up to 17 while the answer is open (the default with "
                 "--gate); further runs take time beyond --time-budget")
      ->type_name("N[:MOST]")
      ->group("Two builds");
  app.add_option("--gate", gate_,
                 "exit with 1 if this build is slower than the other one by more than this, and with 4 if the runs do "
                 "not tell")
      ->type_name("PERCENT")
      ->group("Two builds");
  add_words(app, "--with", references_, "show published figures below the table: theano-2017, mps, ...", "LIST")
      ->group("Output");
  results_.add_to(app, {"continue the run in -o; keep finished cases",
                        "resume although host, build, libraries, driver, power limit or places of threads have "
                        "changed; each result tells which run measured it",
                        "print the plan and measure nothing"});
}

plan_options bench_call::read_plan() const {
  plan_options plan;
  plan.extent = quick_ ? sweep::quick : full_ ? sweep::full : sweep::normal;
  plan.ops = split_list("--op", ops_);
  for (const std::string& word : sizes_) {
    const auto sizes = read_quantity("--size", [&] { return parse_byte_sizes(word); });
    std::ranges::copy_if(sizes, std::back_inserter(plan.sizes),
                         [&](std::uint64_t bytes) { return std::ranges::find(plan.sizes, bytes) == plan.sizes.end(); });
  }
  plan.shapes = read_shapes(shapes_);
  plan.dtypes = split_list("--dtype", dtypes_);
  plan.layouts = split_list("--layout", layouts_);
  plan.data = split_list("--data", data_);
  plan.host_memory = split_list("--host-memory", host_memory_);
  plan.caches = split_list("--cache", caches_);
  plan.dispatches = split_list("--dispatch", dispatches_);
  plan.implementations = split_list("--impl", implementations_);
  plan.tune = tune_;
  plan.compute_modes = split_list("--compute-mode", compute_modes_);
  plan.parameters = read_assignments("--set", parameters_, false);
  return plan;
}

measure_options bench_call::read_measure() const {
  measure_options measure;
  if (quick_) {
    measure.budget_seconds = 15;
    measure.minimum_seconds = 0.03;
    measure.minimum_samples = 5;
    measure.count_limit = 1e6;
  } else if (full_) {
    measure.budget_seconds = std::numeric_limits<double>::infinity();
    measure.count_limit = 1e9;
  }
  if (const std::size_t shapes = read_random_shapes(); shapes > 0) {
    // Many cases matter more than many samples of each.
    constexpr double seconds_of_case = 1.5, shortest = 15;
    measure.budget_seconds = std::max(shortest, seconds_of_case * static_cast<double>(shapes));
    measure.minimum_seconds = 0.03;
    measure.minimum_samples = 5;
    measure.count_limit = 1e6;
    measure.states = state_choice::none;
    measure.leaves_out_whole_groups = true;
  }
  measuring_.read_into(measure);
  if (!count_limit_.empty()) {
    measure.count_limit = read_amount("--count-limit", count_limit_, "1e9");
  }
  if (!power_states_.empty()) {
    check_choice("--power-states", power_states_, {"none", "largest", "all"});
    measure.states = power_states_ == "none"  ? state_choice::none
                     : power_states_ == "all" ? state_choice::all
                                              : state_choice::largest;
  }
  measure.probe_ceilings = !no_probe_;
  return measure;
}

std::size_t bench_call::read_random_shapes() const {
  constexpr std::size_t most = 100'000;
  return random_shapes_.empty() ? 0 : read_whole_number("--random-shapes", random_shapes_, 1, most);
}

std::optional<double> bench_call::read_gate() const {
  if (gate_.empty()) return std::nullopt;
  if (against_.empty()) {
    throw program_error(exit_code::wrong_usage,
                        "--gate compares this build with another one; name that one with --against OTHER_BUILD");
  }
  return read_quantity("--gate", [&] { return parse_percentage(gate_); });
}

run_plan bench_call::read_process_runs() const {
  constexpr run_plan usual_with_gate{fewest_runs, 17};
  if (process_runs_.empty()) {
    if (against_.empty()) return {1, 1};
    return gate_.empty() ? run_plan{} : usual_with_gate;
  }
  const auto refuse = [&](const std::string& why) {
    throw program_error(exit_code::wrong_usage, fmt::format("--runs: '{}' {}", sanitize(process_runs_), why));
  };
  const auto number = [&](const std::string& text) {
    constexpr std::size_t most_digits = 4;
    const bool is_number = !text.empty() && text.size() <= most_digits &&
                           std::ranges::all_of(text, [](char it) { return it >= '0' && it <= '9'; });
    if (!is_number || std::stoul(text) == 0) refuse("is not a number of runs from 1 to 9999; for example 3, or 3:17");
    return static_cast<std::size_t>(std::stoul(text));
  };
  const std::size_t colon = process_runs_.find(':');
  run_plan plan;
  plan.fewest = number(process_runs_.substr(0, colon));
  plan.most = colon == std::string::npos ? plan.fewest : number(process_runs_.substr(colon + 1));
  if (plan.most < plan.fewest) refuse("ends below its beginning; give FEWEST:MOST, for example 3:17");
  if (against_.empty() && plan.most > plan.fewest) {
    refuse(
        "leaves open whether measuring goes on, which depends on a comparison; name the other build with --against "
        "OTHER_BUILD");
  }
  if (!against_.empty() && plan.fewest < fewest_runs) {
    refuse(fmt::format("is too little, because a verdict needs at least {} process runs", fewest_runs));
  }
  return plan;
}

exit_code bench_call::run(std::vector<std::string> command) {
  bench_options options;
  options.common = workers_.read();
  options.common.threads = split_list("--threads", threads_);
  check_thread_words(options.common.threads);
  options.plan = read_plan();
  options.measure = read_measure();
  const run_plan runs = read_process_runs();
  options.measure.process_runs = runs.fewest;
  options.measure.most_process_runs = runs.most;
  results_.read_into(options);
  options.against = against_;
  options.common.workers.against = against_;
  options.gate = read_gate();
  options.command = std::move(command);
  options.suite = suite_;
  options.shapes = {read_random_shapes(), options.measure.seed};
  options.references = split_list("--with", references_);
  results_.check_resume();
  return run_bench(options);
}

}  // namespace

const verb bench_verb{
    "bench", "operations x sizes x types x devices, resident and transferred",
    "Measures operations on the devices of this machine, checks their results, counts their flops, and compares the "
    "rates with what the device can do. A size is that of one array. Sizes are binary: 2MB means 2 MiB.",
    R"(Examples:
  prumo bench                                   the default sweep, within two minutes
  prumo bench --quick -o r.json                 two sizes in 15 seconds, results in r.json
  prumo bench --op add,softmax --size 2MiB:256MiB --dtype f32,f64
  prumo bench --op softmax --shape rows=4096,columns=1024 --shape rows=7,columns=50257
  prumo bench --op softmax --shape rows=1 --size 2MiB:1GiB    one row that fills the array
  prumo bench --op gemm --impl all --size 16MiB --set trans_a=1
  prumo bench --op add,sum --size 1KiB --cache hot --dispatch single    what a call costs beyond an empty kernel
  prumo bench --threads cores --op add,gemm     how they scale over the cores: speed-up and efficiency
  prumo bench --suite theano-2017               a study's tables, with its GPUs beside this machine
  prumo bench --op add --with theano-2017       published figures below the table
  prumo bench --random-shapes 200 --peers torch    where prumo is weak: shapes that nobody tuned for
  prumo bench --op add --list                   what would be measured
  prumo bench --full -o all.json                everything; after an interruption:
  prumo bench --full -o all.json --resume       continue the run in the file
  prumo bench --quick -o r.json --force         replace the results of an earlier run in r.json
  prumo bench --against ../old/build/openmp --op gemm,softmax --gate 3%   is this build slower than that one?
  prumo bench --worker old='/opt/old/prumo-worker-openmp' --op gemm
  prumo bench --worker far=/opt/prumo/prumo-worker-openmp --no-search --launcher 'ssh node7'
  prumo bench --peers torch,numpy               other frameworks beside prumo

Exit codes: 0 done; 1 a result was wrong, or --gate says slower; 2 wrong usage or input; 3 this machine cannot (no
device, too little memory, a permission, a case that failed); 4 --gate is inconclusive: the runs do not tell; 130
interrupted, the results file is valid.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<bench_call>(); }};

}  // namespace prumo::bench
