// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/worker_arguments.hpp"

#include "command_line/options/option_values.hpp"

#include <CLI/CLI.hpp>

namespace prumo::bench {

void worker_arguments::add_to(CLI::App& app) {
  add_words(app, "--device", devices_, "devices to measure: ids or backends (default: all except peers)", "LIST")
      ->group("Where");
  add_words(app, "--peers", peers_,
            "other frameworks to measure beside prumo: numpy, torch, jax, cupy, onednn, loops, one of their devices "
            "(torch-cuda:0), or all",
            "LIST")
      ->group("Where");
  add_words(app, "--worker", workers_, "an additional worker, for example of an older build", "NAME=COMMAND")
      ->group("Where");
  app.add_flag("--no-search", no_search_, "use only the workers named by --worker and --peers")->group("Where");
  app.add_option("--launcher", launcher_, "command that starts every worker, for example 'ssh node7'")
      ->type_name("COMMAND")
      ->group("Where");
  app.add_option("--worker-timeout", time_limit_,
                 "longest time to wait for an answer of a worker (default: depends on the request)")
      ->type_name("DURATION")
      ->group("Where");
  app.add_flag("-v,--verbose", verbose_, "show what workers write to standard error")->group("Output");
}

fleet_options worker_arguments::read() const {
  fleet_options common;
  common.workers.named = workers_;
  common.workers.search = !no_search_;
  common.workers.launcher = launcher_;
  common.workers.folders = worker_folders();
  common.devices = split_list("--device", devices_);
  common.workers.wanted_devices = common.devices;
  common.workers.peers = split_list("--peers", peers_);
  common.client.forward_errors = verbose_;
  if (!time_limit_.empty()) {
    common.client.time_limit = read_quantity("--worker-timeout", [&] { return parse_duration(time_limit_); });
  }
  return common;
}

}  // namespace prumo::bench
