// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/train.hpp"

#include "command_line/verbs/bench_files.hpp"
#include "command_line/verbs/common.hpp"
#include "measure/machine_state.hpp"
#include "results/published_figures.hpp"
#include "results/result_fields.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/plural.hpp"
#include "terminal/shell_words.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/units.hpp"
#include "training/interrupted_training.hpp"
#include "training/trained_weights.hpp"
#include "training/training_report.hpp"
#include "training/training_run.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// What must be equal for two runs to be one. How long they train may differ: a longer run goes on from a shorter one.
json plan_record(const train_options& options, const training_inputs& inputs) {
  const training_recipe& recipe = options.plan.recipe;
  return {{"net", inputs.net().description.name},
          {"net_sha256", inputs.net_sha256()},
          {"data_sha256", inputs.data_sha256()},
          {"initial_weights_sha256", inputs.weights_sha256()},
          {"loss", recipe.loss},
          {"optimizer", recipe.optimizer},
          {"learning_rate", recipe.learning_rate},
          {"momentum", recipe.momentum},
          {"seed", recipe.seed},
          {"shuffle", recipe.shuffle},
          {"batches", options.plan.batches},
          {"dtypes", options.plan.dtypes},
          {"implementations", options.plan.implementations}};
}

/// The loss that goes with the last layer of a net.
std::string usual_loss(const nets::description& net) {
  const auto* const last = std::get_if<nets::dense>(&net.layers.back());
  return last != nullptr && last->activate == nets::activation::sigmoid ? "sigmoid" : "softmax";
}

/// What follows from the net and from other options, where the user did not choose.
void complete(train_options& options) {
  training_recipe& recipe = options.plan.recipe;
  if (!options.loss_chosen) recipe.loss = usual_loss(data::read_net(options.choice.net).description);
  if (!options.optimizer_chosen) recipe.optimizer = recipe.loss == "original" ? "sgd" : "momentum";
  constexpr double of_sgd = 0.1, of_momentum = 0.02, of_adam = 0.001;
  if (!options.rate_chosen) {
    recipe.learning_rate = recipe.optimizer == "sgd" ? of_sgd : recipe.optimizer == "momentum" ? of_momentum : of_adam;
  }
}

/// A file that is written now and then cannot stay open. So it is tried at the start whether it could be written.
/// \param replaces whether what the file holds is replaced, and not gone on from
void check_writable(const char* option, const std::string& path, bool may_exist, bool replaces) {
  if (path.empty()) return;
  if (is_standard_output(path)) {
    throw program_error(exit_code::wrong_usage, fmt::format("{} needs a file, and - is standard output", option));
  }
  const output_file file(path);
  if (!file.is_regular()) {
    throw program_error(exit_code::wrong_usage, fmt::format("{}: {} is no file in a folder", option, path));
  }
  if (!file.had_content()) return;
  const bool is_checkpoint = option == std::string_view("--checkpoint");
  if (!may_exist) {
    refuse_file(path, is_checkpoint ? "is there already; --resume goes on from it, --force begins anew and replaces it"
                                    : "is there already; --force replaces it, or name another file");
  }
  if (replaces) check_written_by_training(path, is_checkpoint);
}

bench_files open_all_files(train_options& options) {
  const std::string& output = options.bench.output;
  std::error_code ignored;
  const bool is_there = !output.empty() && !is_standard_output(output) && fs::exists(output, ignored);
  options.plan.resume = options.bench.resume;
  // The results file may be missing where the run was killed before its first epoch ended.
  options.bench.resume = options.bench.resume && is_there;
  check_distinct(std::vector<named_file>{{"-o", output},
                                         {"--csv", options.bench.csv},
                                         {"--checkpoint", options.plan.checkpoint},
                                         {"--weights", options.plan.weights}},
                 options.choice.weights.empty() ? std::vector<std::string>{} : std::vector{options.choice.weights});
  if (!options.bench.list_only) {
    const bool resume = options.plan.resume, may_exist = resume || options.bench.force;
    check_writable("--checkpoint", options.plan.checkpoint, may_exist, !resume);
    check_writable("--weights", options.plan.weights, may_exist, true);
  }
  return open_files(options.bench);
}

/// Whether a net takes images of the size of those of MNIST, and has as many classes.
bool takes_mnist(const data::net& net) {
  constexpr nets::image_shape of_mnist{1, 28, 28};
  constexpr std::int64_t classes = 10;
  return net.description.input == of_mnist && net.facts.classes == classes;
}

/// What others published about trainings of such nets.
std::string published_lines(const training_inputs& inputs, const text_style& style) {
  const std::vector<std::string> folders = worker_folders();
  const std::vector<std::string> known = published_set_names(folders);
  std::string lines;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(known, name) == known.end()) return;
    for (const published_set& it : load_published_sets(std::vector{name}, folders)) {
      lines += published_trainings(it.document, style);
    }
  };
  const data::net& net = inputs.net();
  if (net.description.name == "mnist-2f" && is_named_net(net.description)) add("mnist-cuda");
  if (takes_mnist(net)) add("mnist-training");
  return lines.empty() ? lines : '\n' + lines;
}

std::string recipe_line(const train_options& options, const training_inputs& inputs) {
  const training_recipe& recipe = options.plan.recipe;
  const std::int64_t batch = options.plan.batches.front();
  std::string optimizer = fmt::format("{}, learning rate {:g}", recipe.optimizer, recipe.learning_rate);
  if (recipe.optimizer == "momentum") optimizer += fmt::format(", momentum {:g}", recipe.momentum);
  const std::int64_t images = inputs.train_images();
  const std::string batches =
      batch > images ? fmt::format("{}, which are all {} images", batch, images) : fmt::format("{}", batch);
  const std::string steps = plural(static_cast<std::size_t>((images - 1) / batch + 1), "step", "steps");
  return fmt::format("training: loss {}, {}, batches of {} ({} an epoch), {}, {}{}", recipe.loss, optimizer, batches,
                     steps, recipe.shuffle ? "an order of its own for each epoch" : "in the order of the file",
                     options.plan.until ? fmt::format("until {} of the test images are right, at most ",
                                                      format_percent(100 * *options.plan.until))
                                        : std::string(),
                     plural(static_cast<std::size_t>(options.plan.epochs), "epoch", "epochs"));
}

std::string taken_lines(const train_options& options, const training_inputs& inputs, const text_style& style) {
  std::string lines;
  for (const std::string& it : inputs.taken()) lines += paragraph(it, style);
  return lines + paragraph(recipe_line(options, inputs), style) + '\n';
}

exit_code interrupted_training(const train_options& options, const bench_files& files, const results_writer& writer,
                               checkpoint_state checkpoint, double elapsed, const machine_watch& machine) {
  const bool in_file = keep_finished(options.bench, files, writer, elapsed, machine);
  const std::string results_file = in_file ? options.bench.output : std::string();
  std::string start = "prumo: interrupted: ";
  for (const std::string& line :
       kept_when_interrupted(writer.results(), results_file, options.plan.checkpoint, checkpoint)) {
    print_error(std::exchange(start, "prumo: ") + sanitize(line) + '\n');
  }
  return exit_code::interrupted;
}

exit_code train(train_options& options, const training_inputs& inputs, bench_files& files, worker_fleet& fleet,
                progress& shown, steady_time started, machine_watch& machine) {
  std::vector<std::string> notes = fleet.notes();
  const bool output_taken = files.take_standard_output();
  const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
  if (!options.bench.list_only) {
    machine.look_at_start(fleet);
    if (std::string concern = machine.concern_at_start(); !concern.empty()) notes.push_back(std::move(concern));
  }
  print_notes(notes);
  print_report(taken_lines(options, inputs, style), output_taken);

  if (options.bench.list_only) {
    results_writer none(files.results, {}, json::array());
    std::string text;
    for (const training_place& it : training_run(fleet, inputs, none, shown, options.plan, {}, {}).places()) {
      text += fmt::format("{} {}, batch {}{}\n", sanitize(fleet.devices()[it.device].id), it.dtype, it.batch,
                          it.implementation ? ", " + sanitize(*it.implementation) : std::string());
    }
    print_output(text);
    return exit_code::done;
  }
  results_writer writer = begin_results(options.bench, files, fleet, notes, plan_record(options, inputs), machine);
  if (options.bench.anonymous) writer.set_anonymous();
  const auto warn = [&](const std::string& note) {
    shown.clear();
    print_notes(std::vector{note});
  };
  writer.on_note(warn);
  const auto tell = [&](const std::string& line) {
    shown.clear();
    print_report(line, output_taken);
  };
  training_run run(fleet, inputs, writer, shown, options.plan, tell, warn);
  training_outcome outcome;
  try {
    outcome = run.run();
    machine.look_at_end(fleet);
  } catch (const interrupted&) {
    shown.clear();
    fleet.quit();
    machine.finish();
    return interrupted_training(options, files, writer, run.checkpoint(), seconds_since(started), machine);
  }
  const auto [resources, document, finished] = end_run(options.bench, files, writer, fleet, started, machine);
  std::string text = '\n' + training_report(document, options.plot, style) + published_lines(inputs, style);
  if (outcome.kept > 0) text += "kept from the earlier run what was finished\n";
  text += finished.lines() + fmt::format("took {}\n", format_duration(seconds_since(started)));
  print_report(text, output_taken);
  if (outcome.wrong > 0) return finished.tell(exit_code::no);
  for (const std::string& it : outcome.unsaved) {
    print_error(fmt::format("prumo: {} could not be written at last, and is as it was before\n", sanitize(it)));
  }
  if (outcome.lacking_memory > 0) {
    print_error("prumo: a training did not fit into memory; the table says what it needs. Choose a smaller --batch\n");
  }
  if (outcome.failed > 0 || outcome.lacking_memory > 0 || outcome.trained == 0 || !outcome.unsaved.empty()) {
    return finished.tell(exit_code::machine_cannot);
  }
  if (outcome.unreached > 0) {
    print_error(fmt::format("prumo: {} of the test images were not reached in {} epochs\n",
                            format_percent(100 * *options.plan.until), options.plan.epochs));
    return finished.tell(exit_code::no);
  }
  return finished.tell(exit_code::done);
}

}  // namespace

exit_code run_train(train_options options) {
  const steady_time started = std::chrono::steady_clock::now();
  bench_files files = open_all_files(options);
  complete(options);
  progress shown;
  std::optional<training_inputs> inputs;
  try {
    const interrupt_guard guard;
    inputs.emplace(options.choice, options.plan.recipe, shown);
  } catch (const interrupted&) {
    shown.clear();
    print_error("prumo: interrupted: nothing was finished\n");
    return exit_code::interrupted;
  }
  machine_watch machine(options.bench.common.workers.launcher.empty());
  return with_fleet(options.bench.common, device_facts::read, [&](worker_fleet& fleet) {
    return train(options, *inputs, files, fleet, shown, started, machine);
  });
}

}  // namespace prumo::bench
