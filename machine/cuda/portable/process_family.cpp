// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process_family.hpp"

#include <fstream>
#include <string>
#include <unistd.h>

namespace prumo::machine::cuda {

std::optional<unsigned> parent_of(unsigned process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    unsigned parent = 0;
    if (word == "PPid:" && status >> parent) return parent;
  }
  return std::nullopt;
}

std::vector<unsigned> family_among(const std::vector<unsigned>& processes) {
  constexpr unsigned adopter_of_orphans = 1;
  const auto self = static_cast<unsigned>(getpid());
  const auto parent = static_cast<unsigned>(getppid());
  std::vector<unsigned> family;
  for (const unsigned process : processes) {
    if (process == self || (parent != adopter_of_orphans && parent_of(process) == parent)) family.push_back(process);
  }
  return family;
}

}  // namespace prumo::machine::cuda
