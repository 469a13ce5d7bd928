// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops_framework.hpp"
#include "peer_handler.hpp"
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>

int main(int argc, char** argv) {
  using namespace prumo;
  protocol::standard_channel channel;
  protocol::program_description program;
  program.name = "prumo-worker-loops";
  program.version = protocol::prumo_version();
  program.description =
      "It measures what plain C++ loops reach on this processor: as the compiler vectorises them, with\n"
      "stores past the caches, with the C library's vector mathematics, and the BLAS called directly.";
  program.example = R"({"request": "resolve", "op": "add", "dtype": "f32", "bytes_per_array": 1048576})";
  if (const auto exit_code = protocol::handle_arguments(program, argc, argv, channel)) return *exit_code;
  peers::loops_framework loops;
  peers::peer_handler handler(loops);
  return protocol::serve(handler, channel);
}
