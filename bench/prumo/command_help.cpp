// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace prumo::bench {
namespace {

struct verb_text {
  std::string_view name;
  std::string_view summary;
  std::string_view description;
  std::string_view examples;
};

constexpr std::array<verb_text, 2> verb_texts{{
    {"bench", "operations x sizes x types x devices, resident and transferred",
     "Measures operations on the devices of this machine, checks their results, counts their flops, and compares the "
     "rates with what the device could do. Sizes are of one array, in powers of two: 2MB is 2 MiB.",
     R"(Examples:
  prumo bench                                   the default sweep, within two minutes
  prumo bench --quick -o r.json                 two sizes in 15 seconds, results in r.json
  prumo bench --op add,softmax --size 2MB:256MB --dtype f32,f64
  prumo bench --op softmax --shape rows=4096,columns=1024
  prumo bench --op gemm --impl all --size 16MB --set trans_a=1
  prumo bench --op add --list                   what would be measured
  prumo bench --full -o all.json                everything; after an interruption:
  prumo bench --full -o all.json --resume       go on where the file stopped
  prumo bench --worker old='/opt/old/prumo-worker-openmp' --op gemm
  prumo bench --worker numpy='python3 -m prumo_peers.numpy' --launcher 'ssh node7'

Exit codes: 0 done; 1 a result was wrong; 2 wrong usage or input; 3 this machine cannot (no device, too little
memory, a permission, a case that failed); 130 interrupted, the results file is valid.)"},
    {"devices", "what is here: units, clocks, caches, peaks, measured ceilings",
     "Shows the devices of this machine: units, clocks, caches, power, the theoretical peaks with where each number "
     "comes "
     "from, and measured ceilings.",
     R"(Examples:
  prumo devices                       everything, ceilings measured in some seconds
  prumo devices --no-probe            at once, without ceilings
  prumo devices --list                the ids alone, for --device
  prumo devices --device openmp:0 --json
  prumo devices -o here.json          a results file without results

Exit codes: 0 done; 2 wrong usage; 3 no such device; 130 interrupted.)"},
}};

const verb_text& text_of(std::string_view verb) {
  const auto found = std::ranges::find_if(verb_texts, [&](const verb_text& it) { return it.name == verb; });
  return found == verb_texts.end() ? verb_texts.front() : *found;
}

}  // namespace

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const verb_text& verb : verb_texts) names.emplace_back(verb.name);
  return names;
}

std::string verbs_list() {
  std::string list;
  for (const verb_text& verb : verb_texts) list += fmt::format("{:<10} {}\n", verb.name, verb.summary);
  return list;
}

std::string program_help() {
  std::string verbs;
  for (const verb_text& verb : verb_texts) verbs += fmt::format("  prumo {:<10} {}\n", verb.name, verb.summary);
  return fmt::format(
      "prumo measures what this machine's devices do with basic operations, and says how that compares with what they "
      "could do.\n\n{}\n`prumo VERB --help` shows options and examples; `prumo --version` the version.\n"
      "Begin with: prumo bench --quick\n",
      verbs);
}

std::string verb_description(std::string_view verb) { return std::string(text_of(verb).description); }

std::string verb_examples(std::string_view verb) { return std::string(text_of(verb).examples); }

}  // namespace prumo::bench
