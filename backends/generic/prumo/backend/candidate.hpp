// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Operations that have several implementations, and choose one of them for each call: what a candidate is, how one is
/// chosen, and how a call runs through it.

#include <prumo/context.hpp>
#include <prumo/error.hpp>

#include <Kokkos_Core.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::backend {

/// One implementation of an operation for a space. Problem is the operation's plain struct. Prepared holds what a
/// candidate finds out about a problem when it is asked, and needs again when it runs, such as the arguments for a
/// library. A caller keeps it on its stack.
template <class Exec, class Problem, class Prepared>
struct candidate {
  std::string_view name;

  /// If the implementation can compute this problem, fills `prepared` and returns an empty string. Otherwise returns
  /// why it cannot.
  std::string (*prepare)(const Exec& instance, const Problem& problem, Prepared& prepared);

  /// Enqueues the work on the context's instance, with what prepare() filled.
  void (*run)(context<Exec>& ctx, const Problem& problem, const Prepared& prepared);

  /// Used only if it is asked for by name.
  bool on_request = false;

  /// Uses units for matrix products, if the device has them for the type and mode.
  bool uses_matrix_units = false;

  /// Returns why another candidate is the better choice for this problem, or an empty string. It is not asked if the
  /// candidate is named. Null: nothing speaks against it.
  std::string_view (*why_not_chosen)(const Exec& instance, const Problem& problem) = nullptr;
};

/// What an operation does if there is nothing to choose, for example if no entry is to be written.
template <class Exec, class Problem>
struct shortcut {
  std::string_view name;
  std::string_view reason;
  void (*run)(context<Exec>& ctx, const Problem& problem);  ///< null: there is nothing to do
};

/// The candidates of a backend, with the portable one after or before them.
template <class Candidate>
std::vector<Candidate> joined_candidates(std::span<const Candidate> vendor, const Candidate& portable,
                                         bool portable_first = false) {
  std::vector<Candidate> all(vendor.begin(), vendor.end());
  all.insert(portable_first ? all.begin() : all.end(), portable);
  return all;
}

// Below, Operation is a struct that describes an operation:
//
//     problem, prepared           the types of its candidates
//     name, type                  `prumo::gemm`, and the name of the scalar type
//     describe(problem)           the problem in words
//     region_details(problem)     what follows the implementation in the name of a region: `f32,strict`
//     candidates<Exec>(problem)   a span of candidates that live as long as the program, best first
//     shortcut_of<Exec>(problem)  an optional shortcut<Exec, problem>

/// The first candidate that can compute the problem, or the one that is `named`. `prepared` is what it prepared. `log`
/// gets a line with the answer of each candidate. Throws argument_error if no candidate has that name, and
/// unsupported_error with the reasons if none can compute the problem.
template <class Operation, class Exec>
const auto& choose(const Exec& instance, const typename Operation::problem& problem, std::string_view named,
                   typename Operation::prepared& prepared, std::string* log = nullptr) {
  const auto candidates = Operation::template candidates<Exec>(problem);
  const auto is_asked = [&](const auto& each) { return named.empty() ? !each.on_request : each.name == named; };
  // Refers to `answer` if prepare() gave it.
  const auto refusal_of = [&](const auto& each, std::string& answer) {
    answer = each.prepare(instance, problem, prepared);
    if (answer.empty() && named.empty() && each.why_not_chosen != nullptr) {
      return each.why_not_chosen(instance, problem);
    }
    return std::string_view(answer);
  };
  std::string answer;
  for (const auto& each : candidates) {
    if (!is_asked(each)) continue;
    const std::string_view reason = refusal_of(each, answer);
    if (log != nullptr) {
      *log += "  " + std::string(each.name) + ": " + std::string(reason.empty() ? "taken" : reason) + "\n";
    }
    if (reason.empty()) return each;
  }
  // Reasons are put together only now: that would take longer than a small product.
  std::string refusals;
  bool is_known = named.empty();
  for (const auto& each : candidates) {
    if (!is_asked(each)) continue;
    is_known = true;
    refusals += (refusals.empty() ? "" : "; ") + std::string(each.name) + ": " + std::string(refusal_of(each, answer));
  }
  const std::string operation(Operation::name);
  if (is_known) {
    throw unsupported_error(operation + ": nothing computes " + Operation::describe(problem) + " in " + Exec::name() +
                            " (" + refusals + ")");
  }
  std::string known;
  for (const auto& each : candidates) known += (known.empty() ? "" : ", ") + std::string(each.name);
  throw argument_error(operation + ": no implementation is called '" + std::string(named) + "' in " + Exec::name() +
                       " for " + std::string(Operation::type) + "; there are: " + known);
}

/// The name of the implementation or shortcut that dispatch() would use. Throws like dispatch().
template <class Operation, class Exec>
std::string_view implementation_name(const Exec& instance, const typename Operation::problem& problem,
                                     std::string_view named) {
  if (const auto shortcut = Operation::template shortcut_of<Exec>(problem)) return shortcut->name;
  typename Operation::prepared prepared;
  return choose<Operation>(instance, problem, named, prepared).name;
}

/// The names of the implementations that exist for a space and type, best first.
template <class Operation, class Exec>
std::vector<std::string_view> implementation_names() {
  std::vector<std::string_view> names;
  const typename Operation::problem any;
  for (const auto& each : Operation::template candidates<Exec>(any)) names.push_back(each.name);
  return names;
}

/// Whether the implementation of that name uses units for matrix products.
template <class Operation, class Exec>
bool uses_matrix_units(std::string_view implementation) {
  const typename Operation::problem any;
  for (const auto& each : Operation::template candidates<Exec>(any)) {
    if (each.name == implementation) return each.uses_matrix_units;
  }
  return false;
}

/// Whether `dispatch` is among the words of the environment variable PRUMO_VERBOSE.
bool dispatch_is_verbose();

/// Whether a context's operations print how they were dispatched. The environment is asked at the first of them.
template <class Exec>
bool prints_dispatch(context<Exec>& ctx) {
  struct verbosity {
    bool on;
  };
  return ctx.template attachment<verbosity>([] { return verbosity{dispatch_is_verbose()}; }).on;
}

/// A region whose name shows the implementation: `prumo::gemm[cblas,f32,strict]`. The name is put together only if a
/// tool listens.
class dispatch_region {
 public:
  template <class Details>
  dispatch_region(std::string_view operation, std::string_view implementation, const Details& details)
      : is_seen_(Kokkos::Profiling::profileLibraryLoaded()) {
    if (is_seen_) push(operation, implementation, details());
  }
  ~dispatch_region();
  dispatch_region(const dispatch_region&) = delete;
  dispatch_region& operator=(const dispatch_region&) = delete;

 private:
  static void push(std::string_view operation, std::string_view implementation, const std::string& details);

  bool is_seen_;
};

/// Prints the answers of a call's candidates to stderr.
void print_dispatch(std::string_view operation, const std::string& problem, const char* space, const std::string& log);

/// One call of an operation: by its shortcut, by the candidate that is `named`, or by the first one that can compute
/// the problem. Enqueues the work on the context's instance. Throws like choose().
template <class Operation, class Exec>
void dispatch(context<Exec>& ctx, const typename Operation::problem& problem, std::string_view named) {
  const bool is_verbose = prints_dispatch(ctx);
  const auto details = [&] { return Operation::region_details(problem); };
  const auto print = [&](const std::string& log) {
    print_dispatch(Operation::name, Operation::describe(problem), Exec::name(), log);
  };
  if (const auto shortcut = Operation::template shortcut_of<Exec>(problem)) {
    if (is_verbose) print("  " + std::string(shortcut->name) + ": " + std::string(shortcut->reason) + "\n");
    if (shortcut->run == nullptr) return;
    const dispatch_region region(Operation::name, shortcut->name, details);
    return shortcut->run(ctx, problem);
  }
  typename Operation::prepared prepared;
  std::string log;
  const auto& chosen = choose<Operation>(ctx.instance(), problem, named, prepared, is_verbose ? &log : nullptr);
  if (is_verbose) print(log);
  const dispatch_region region(Operation::name, chosen.name, details);
  chosen.run(ctx, problem, prepared);
}

}  // namespace prumo::backend
