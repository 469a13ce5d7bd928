// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/command_line.hpp"
#include "results/results_file.hpp"
#include "terminal/program_error.hpp"
#include "terminal/standard_output.hpp"
#include "workers/worker_client.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace {

using prumo::bench::exit_code;

exit_code complain(exit_code code, const std::string& message) {
  prumo::bench::print_error(fmt::format("prumo: {}\n", message));
  return code;
}

exit_code run_and_explain(const std::vector<std::string>& words) {
  using namespace prumo::bench;
  try {
    return run_command_line(words);
  } catch (const program_error& error) {
    return complain(error.code(), error.what());
  } catch (const file_error& error) {
    const bool input = error.why() == file_error::cause::input;
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
  prumo::bench::prepare_standard_streams();
  exit_code code = run_and_explain(std::vector<std::string>(argv, argv + argc));
  if (const int error = prumo::bench::standard_output_error(); error != 0) {
    const exit_code lost = complain(
        exit_code::machine_cannot,
        fmt::format("standard output cannot be written: {}; what was printed there is lost", std::strerror(error)));
    if (code == exit_code::done) code = lost;
  }
  return static_cast<int>(code);
}
