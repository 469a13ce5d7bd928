// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/case/registry.hpp>

namespace prumo::worker {

/// The main() of a worker for one execution space. It answers requests on standard input with the library's cases and
/// the cases that `register_cases` adds. Returns the program's exit code. prumo_add_worker() writes the call of it.
template <class Exec>
int run_worker(int argc, char** argv, void (*register_cases)(cases::case_registries&));

}  // namespace prumo::worker
