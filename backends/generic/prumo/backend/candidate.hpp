// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Operations that have several implementations, of which one is chosen call by call: what a candidate is, and how one
/// is found.

#include <prumo/context.hpp>
#include <prumo/error.hpp>

#include <span>
#include <string>
#include <string_view>

namespace prumo::backend {

/// One implementation of an operation for a space; Problem is the operation's plain struct.
template <class Exec, class Problem>
struct candidate {
  std::string_view name;

  /// Empty where the implementation computes this problem, else the reason why it does not.
  std::string (*why_not)(const Exec& instance, const Problem& problem);

  /// Enqueues the work on the context's instance. Never called where there is none.
  void (*run)(context<Exec>& ctx, const Problem& problem);

  /// Taken only where it is asked for by name.
  bool on_request = false;

  /// Computes in units for matrix products where the device has them for the type and mode.
  bool uses_matrix_units = false;
};

/// The first candidate that can, or the one that is `named`. With `log`, says why, a line each. Throws argument_error
/// where none has that name, and unsupported_error with the reasons where none can. `operation` and `type` are their
/// names, `describe` tells the problem in words.
template <class Exec, class Problem, class Describe>
const candidate<Exec, Problem>& choose_candidate(std::span<const candidate<Exec, Problem>> candidates,
                                                 std::string_view operation, std::string_view type,
                                                 const Exec& instance, const Problem& problem, const Describe& describe,
                                                 std::string_view named, std::string* log) {
  std::string refusals;
  bool is_known = named.empty();
  for (const candidate<Exec, Problem>& each : candidates) {
    if (named.empty() ? each.on_request : each.name != named) continue;
    is_known = true;
    const std::string reason = each.why_not(instance, problem);
    if (log != nullptr) *log += "  " + std::string(each.name) + ": " + (reason.empty() ? "taken" : reason) + "\n";
    if (reason.empty()) return each;
    refusals += (refusals.empty() ? "" : "; ") + std::string(each.name) + ": " + reason;
  }
  if (is_known) {
    throw unsupported_error(std::string(operation) + ": nothing computes " + describe(problem) + " in " + Exec::name() +
                            " (" + refusals + ")");
  }
  std::string known;
  for (const candidate<Exec, Problem>& each : candidates) known += (known.empty() ? "" : ", ") + std::string(each.name);
  throw argument_error(std::string(operation) + ": no implementation is called '" + std::string(named) + "' in " +
                       Exec::name() + " for " + std::string(type) + "; there are: " + known);
}

/// Whether `dispatch` is among the words of the environment variable PRUMO_VERBOSE.
bool dispatch_is_verbose();

/// Whether a context's operations print how they were dispatched, as the environment said at the first of them.
template <class Exec>
bool prints_dispatch(context<Exec>& ctx) {
  struct verbosity {
    bool on;
  };
  return ctx.template attachment<verbosity>([] { return verbosity{dispatch_is_verbose()}; }).on;
}

}  // namespace prumo::backend
