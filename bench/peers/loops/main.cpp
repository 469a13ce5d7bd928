// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops_framework.hpp"
#include "peer_handler.hpp"

int main(int argc, char** argv) {
  return prumo::peers::run_peer<prumo::peers::loops_framework>(
      "prumo-worker-loops",
      "It measures what plain C++ loops reach on this processor: as the compiler vectorises them, with\n"
      "stores past the caches, with the C library's vector mathematics, and the BLAS called directly.",
      argc, argv);
}
