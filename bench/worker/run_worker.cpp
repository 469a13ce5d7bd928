// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_worker.hpp"

#include "kokkos_session.hpp"
#include "worker_handler.hpp"
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>
#include <prumo/spaces.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace prumo::worker {

template <class Exec>
int run_worker(int argc, char** argv, void (*register_cases)(cases::case_registries&)) {
  protocol::standard_channel channel;

  std::string name = argc > 0 ? argv[0] : "prumo-worker";
  name = name.substr(name.find_last_of('/') + 1);
  protocol::program_description program;
  program.name = name;
  program.version = protocol::prumo_version();
  program.description =
      "It runs prumo's operations on " + std::string(Exec::name()) + " through Kokkos, measures and verifies them.";
  program.passed_on = "--kokkos-";
  if (const auto exit_code = protocol::handle_arguments(program, argc, argv, channel)) return *exit_code;

  try {
    const kokkos_session session(argc, argv);
    cases::case_registries registries;
    cases::register_library_cases(registries);
    register_cases(registries);
    worker_handler<Exec> handler(registries.of<Exec>(), name);
    return protocol::serve(handler, channel);
  } catch (const std::exception& cause) {
    std::fprintf(stderr, "%s: this machine cannot run it: %s\n", name.c_str(), cause.what());
    return 3;
  }
}

#define PRUMO_INSTANTIATE_RUN_WORKER(Space) \
  template int run_worker<Space>(int, char**, void (*)(cases::case_registries&));
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_RUN_WORKER)

}  // namespace prumo::worker
