// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_framework.hpp"
#include "peer_handler.hpp"
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>

int main(int argc, char** argv) {
  using namespace prumo;
  protocol::standard_channel channel;
  protocol::program_description program;
  program.name = "prumo-worker-onednn";
  program.version = protocol::prumo_version();
  program.description =
      "It measures what oneDNN's primitives reach on this processor, each created once when its case is\n"
      "prepared and executed on a stream of the CPU engine.";
  program.example = R"({"request": "resolve", "op": "add", "dtype": "f32", "bytes_per_array": 1048576})";
  if (const auto exit_code = protocol::handle_arguments(program, argc, argv, channel)) return *exit_code;
  peers::onednn_framework onednn;
  peers::peer_handler handler(onednn);
  return protocol::serve(handler, channel);
}
