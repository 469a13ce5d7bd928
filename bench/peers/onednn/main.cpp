// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onednn_framework.hpp"
#include "peer_handler.hpp"

int main(int argc, char** argv) {
  return prumo::peers::run_peer<prumo::peers::onednn_framework>(
      "prumo-worker-onednn",
      "It measures what oneDNN's primitives reach on this processor, each created once when its case is\n"
      "prepared and executed on a stream of the CPU engine.",
      argc, argv);
}
