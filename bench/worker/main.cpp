// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_session.hpp"
#include "worker_handler.hpp"
#include <prumo/case/registry.hpp>
#include <prumo/protocol/server.hpp>
#include <prumo/protocol/surroundings.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

// Written by prumo_add_worker(): the operations of this program beside the library's own.
void prumo_register_worker_cases(prumo::cases::case_registries& registries);

int main(int argc, char** argv) {
  using namespace prumo;
  protocol::standard_channel channel;

  std::string name = argc > 0 ? argv[0] : "prumo-worker";
  name = name.substr(name.find_last_of('/') + 1);
  protocol::program_description program;
  program.name = name;
  program.version = protocol::prumo_version();
  program.description = "It runs prumo's operations on " + std::string(Kokkos::DefaultExecutionSpace::name()) +
                        " through Kokkos, measures and verifies them.";
  program.example = R"({"request": "resolve", "op": "add", "dtype": "f32", "bytes_per_array": 1048576})";
  program.passed_on = "--kokkos-";
  if (const auto exit_code = protocol::handle_arguments(program, argc, argv, channel)) return *exit_code;

  protocol::json environment = protocol::environment_that_matters();
  try {
    const worker::kokkos_session session(argc, argv);
    cases::case_registries registries;
    cases::register_library_cases(registries);
    prumo_register_worker_cases(registries);
    using exec = Kokkos::DefaultExecutionSpace;
    worker::worker_handler<exec> handler(registries.of<exec>(), name, std::move(environment));
    return protocol::serve(handler, channel);
  } catch (const std::exception& cause) {
    std::fprintf(stderr, "%s: this machine cannot run it: %s\n", name.c_str(), cause.what());
    return 3;
  }
}
