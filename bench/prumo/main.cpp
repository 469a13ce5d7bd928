// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/command_line.hpp"
#include "results/results_file.hpp"
#include "terminal/output.hpp"
#include "terminal/program_error.hpp"
#include "workers/worker_client.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace {

using prumo::bench::exit_code;

exit_code complain(exit_code code, const std::string& message) {
  prumo::bench::print_message(message);
  return code;
}

exit_code run_and_explain(const std::vector<std::string>& words) {
  using namespace prumo::bench;
  try {
    return run_command_line(words);
  } catch (const program_error& error) {
    return complain(error.code(), error.what());
  } catch (const results_error& error) {
    const bool input = error.why() == results_error::cause::input;
    return complain(input ? exit_code::wrong_usage : exit_code::machine_cannot, error.what());
  } catch (const worker_failure& error) {
    return complain(exit_code::machine_cannot, error.what());
  } catch (const std::bad_alloc&) {
    return complain(exit_code::machine_cannot, "out of memory");
  } catch (const std::exception& error) {
    return complain(exit_code::machine_cannot, fmt::format("internal error, please report it: {}", error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const exit_code code = run_and_explain(std::vector<std::string>(argv, argv + argc));
  if (std::fflush(stdout) != 0) return static_cast<int>(code == exit_code::done ? exit_code::machine_cannot : code);
  return static_cast<int>(code);
}
