// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/net_values.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/results_arguments.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/train.hpp"
#include "command_line/verbs/verb.hpp"
#include "terminal/text_plot.hpp"
#include "terminal/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace prumo::bench {
namespace {

constexpr std::uint64_t most_epochs = 1'000'000;

class train_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    workers_.add_to(app);
    const auto add = [&](const char* name, std::string& target, const std::string& description, const char* type,
                         const char* group) {
      app.add_option(name, target, description)->type_name(type)->group(group);
    };
    add("--net", choice_.net,
        fmt::format("a net by name ({}; default lenet5), or its JSON file", fmt::join(nets::known_nets(), ", ")),
        "NAME|FILE", "What");
    add("--data", choice_.data,
        "a folder of IDX files under their usual names, train and t10k (default: digits that prumo draws)", "DIR",
        "What");
    add("--digits", digits_, "how many digits are drawn for training (default 60000; a sixth of it for tests)", "N",
        "What");
    add("--initial-weights", choice_.weights, "a safetensors file to begin with (default: random weights)", "FILE",
        "What");
    add_words(app, "--batch", batches_, "images of a step (default 64)", "LIST")->group("What");
    add_words(app, "--dtype", dtypes_, "types: f32, f64 (default f32)", "LIST")->group("What");
    add_words(app, "--impl", implementations_,
              "ways to take a step, by name, or all (default: each worker's first that can train the net)", "LIST")
        ->group("What");
    add("--loss", loss_,
        "softmax, sigmoid (both cross-entropies), squared, original (of the authors of mnist-2f). Default: sigmoid if "
        "the net ends with a sigmoid, otherwise softmax",
        "NAME", "How");
    add("--optimizer", optimizer_, "sgd, momentum, adam (default momentum; with the loss original sgd)", "NAME", "How");
    add("--learning-rate", rate_, "default 0.1 with sgd, 0.02 with momentum, 0.001 with adam", "NUMBER", "How");
    add("--momentum", momentum_, "of the optimizer momentum (default 0.9)", "NUMBER", "How");
    add("--seed", seed_, "of random weights and of the order of images (default 1)", "N", "How");
    app.add_flag("--no-shuffle", no_shuffle_, "take images in the order of their file in each epoch")->group("How");
    app.add_flag("--no-verify", no_verify_, "do not compare a step with the reference")->group("How");
    add("--epochs", epochs_, "how often all images are seen (default 5; with --until 40 at most)", "N", "How long");
    add("--until", until_, "stop when this share of the test images is right, for example 98%", "PERCENT", "How long");
    add("--checkpoint", checkpoint_, "keep all that is needed to go on in this file", "FILE", "Output");
    add("--checkpoint-every", checkpoint_every_,
        "how long to train between two writes of the checkpoint (default 60s); the end of an epoch writes it, too",
        "DURATION", "Output");
    add_output(app, "--weights", weights_, "write the final weights (safetensors) to this file");
    add("--weights-dtype", weights_dtype_,
        "round them to f16, bf16, f32 or f64, and test them once more (default: the type of the training)", "TYPE",
        "Output");
    add("--plot", plot_, "curves: auto (on a terminal), always, never", "WHEN", "Output");
    results_.add_to(
        app, {"go on from the checkpoint, and continue the run in -o",
              "resume although build, device or settings have changed; weights then need not be the same bit by bit",
              "print what would be trained, and train nothing"});
  }

  exit_code run(std::vector<std::string> command) override {
    train_options options;
    options.bench.common = workers_.read();
    results_.read_into(options.bench);
    options.bench.command = std::move(command);
    options.choice = choice_;
    if (!digits_.empty()) options.choice.digits = read_digits(digits_, choice_.data);
    read_recipe(options);
    read_plan(options.plan);
    options.plan.allow_mixed = options.bench.allow_mixed;
    check_choice("--plot", plot_, {"auto", "always", "never"});
    options.plot = plot_ == "always" || (plot_ == "auto" && is_plot_wanted());
    if (results_.resumes() && checkpoint_.empty() && !results_.has_file()) {
      throw program_error(exit_code::wrong_usage,
                          "--resume needs what to go on from: name a checkpoint with --checkpoint FILE, or the results "
                          "file with -o FILE");
    }
    return run_train(std::move(options));
  }

 private:
  void read_recipe(train_options& options) const {
    training_recipe& recipe = options.plan.recipe;
    if (!loss_.empty()) {
      check_choice("--loss", loss_, {"softmax", "sigmoid", "squared", "original"});
      recipe.loss = loss_;
      options.loss_chosen = true;
    }
    if (!optimizer_.empty()) {
      check_choice("--optimizer", optimizer_, {"sgd", "momentum", "adam"});
      recipe.optimizer = optimizer_;
      options.optimizer_chosen = true;
    }
    if (!rate_.empty()) {
      recipe.learning_rate = read_amount("--learning-rate", rate_, "0.05");
      if (!(recipe.learning_rate > 0)) {
        throw program_error(exit_code::wrong_usage, "--learning-rate: a rate above 0 is needed, such as 0.05");
      }
      options.rate_chosen = true;
    }
    if (!momentum_.empty()) {
      recipe.momentum = read_amount("--momentum", momentum_, "0.9");
      if (recipe.momentum >= 1) {
        throw program_error(exit_code::wrong_usage, "--momentum: a number from 0 to below 1 is needed, such as 0.9");
      }
    }
    // Numbers of JSON are exact up to 2^53.
    constexpr std::uint64_t largest_seed = std::uint64_t{1} << 53U;
    if (!seed_.empty()) recipe.seed = read_whole_number("--seed", seed_, 0, largest_seed);
    recipe.shuffle = !no_shuffle_;
  }

  void read_plan(training_plan& plan) const {
    constexpr std::int64_t usual_epochs = 5, most_usual_epochs = 40;
    plan.batches = read_batches(batches_, "64");
    plan.dtypes = read_training_types(dtypes_);
    plan.implementations = split_list("--impl", implementations_);
    if (!until_.empty()) {
      plan.until = read_quantity("--until", [&] { return parse_percentage(until_); });
      if (*plan.until > 1) {
        throw program_error(exit_code::wrong_usage, "--until: more than 100% of the test images cannot be right");
      }
    }
    plan.epochs = plan.until ? most_usual_epochs : usual_epochs;
    if (!epochs_.empty()) {
      plan.epochs = static_cast<std::int64_t>(read_whole_number("--epochs", epochs_, 1, most_epochs));
    }
    plan.verify = !no_verify_;
    plan.checkpoint = checkpoint_;
    if (!checkpoint_every_.empty()) {
      plan.checkpoint_seconds = read_quantity("--checkpoint-every", [&] { return parse_duration(checkpoint_every_); });
    }
    plan.weights = weights_;
    if (!weights_dtype_.empty()) {
      check_choice("--weights-dtype", weights_dtype_, {"f16", "bf16", "f32", "f64"});
      if (weights_.empty()) {
        throw program_error(exit_code::wrong_usage, "--weights-dtype is of the file that --weights FILE names");
      }
      plan.weights_dtype = weights_dtype_;
    }
  }

  worker_arguments workers_;
  results_arguments results_;
  training_choice choice_;
  std::vector<std::string> batches_, dtypes_, implementations_;
  std::string digits_, loss_, optimizer_, rate_, momentum_, seed_, epochs_, until_, checkpoint_, checkpoint_every_,
      weights_, weights_dtype_, plot_ = "auto";
  bool no_shuffle_ = false, no_verify_ = false;
};

}  // namespace

const verb train_verb{
    "train", "the training of convolutional nets: time an epoch, time to an accuracy, checkpoints",
    "Trains a convolutional net on the devices of this machine. Compares the first step with the same "
    "step in higher precision. Tells loss, accuracy, images a second and joules of each epoch, and "
    "the time to each accuracy. Without any file it trains lenet5 on digits that it draws.",
    R"(Examples:
  prumo train                                   lenet5 on drawn digits
  prumo train --until 98% --weights lenet5.safetensors
                                                until 98 % of the test images are right; keep the weights
  prumo infer --weights lenet5.safetensors      and run the net with them
  prumo train --data mnist --epochs 20 --checkpoint run.safetensors -o run.json
                                                images from files; Ctrl-C or a crash loses a minute at most
  prumo train --data mnist --epochs 20 --checkpoint run.safetensors -o run.json --resume
                                                goes on, to the same weights bit by bit
  prumo train --net mnist-2f --loss original --batch 1 --no-shuffle --epochs 40 --device cuda:0
                                                as a published program trains it
  prumo train --peers torch,jax --batch 64 -o r.json
                                                beside PyTorch and JAX: same data, order and first weights, in turns
  prumo train --net my.json --data my-images --optimizer adam --learning-rate 0.001
                                                a net of your own; docs/data.md tells how to write one
  prumo compare r.json other.json               two runs beside each other

Exit codes: 0 done; 1 a step was wrong, or --until was not reached; 2 wrong usage or input; 3 this machine cannot (no
device, too little memory, a permission, a failure); 130 interrupted, checkpoint and results file are valid.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<train_call>(); }};

}  // namespace prumo::bench
