// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/count_proof.hpp>
#include <prumo/case/test_choices.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace prumo::cases {
namespace {

constexpr std::size_t least_shapes = 3;

/// `2 mul, 1 add`: the kinds in which two counts differ, of the first of them.
std::string differing_kinds(const flop_counts& counts, const flop_counts& others) {
  std::string text;
  for (std::size_t kind = 0; kind < flop_kind_count; ++kind) {
    const auto which = static_cast<flop_kind>(kind);
    if (counts[which] == others[which]) continue;
    text.append(text.empty() ? "" : ", ").append(std::to_string(counts[which])).append(" ");
    text.append(flop_kind_name(which));
  }
  return text;
}

}  // namespace

template <class Exec>
flop_counts proven_count(const operation_case<Exec>& operation, const specification& choice) {
  const flop_counts kernel = operation.count_kernel(choice);
  const flop_counts closed_form = operation.count_closed_form(choice);
  const std::string said = differing_kinds(closed_form, kernel);
  if (said.empty()) return kernel;
  throw count_error("counted flops: the closed form of " + choice.op + " says " + said + ", its kernel does " +
                    differing_kinds(kernel, closed_form) + " (" + label_of(choice) + "); correct the closed form");
}

/// Proves it with the parameters of `tried`, and returns at how many shapes.
template <class Exec>
static std::size_t proven_shapes(const operation_case<Exec>& operation, specification tried) {
  constexpr double most_work = 2e6;  // flops or elements of all shapes together: some 10 ms
  std::vector<std::pair<double, shape>> shapes;
  for (const shape& extents : test_shapes(operation.info())) {
    tried.shape = extents;
    if (!operation.why_invalid(tried).empty()) continue;
    const cost model = operation.model(tried.type, extents, tried.values);
    shapes.emplace_back(std::max(model.flops, model.elements), extents);
  }
  std::ranges::stable_sort(shapes, {}, [](const auto& entry) { return entry.first; });
  double work = 0;
  std::size_t proven = 0;
  for (const auto& [needed, extents] : shapes) {
    work += needed;
    if (proven >= least_shapes && work > most_work) break;
    tried.shape = extents;
    (void)proven_count(operation, tried);
    ++proven;
  }
  return proven;
}

template <class Exec>
void prove_closed_form(const operation_case<Exec>& operation, const specification& choice) {
  if (!operation.countable()) return;
  const case_info info = operation.info();
  specification tried = default_choice(info, choice.type);
  tried.values = choice.values;
  std::size_t proven = proven_shapes(operation, tried);
  // Unusual parameters may fit large shapes only: a window of 100, say.
  for (const parameters& values : test_parameters(info, choice.type, array_layout::right)) {
    if (proven >= least_shapes) return;
    tried.values = values;
    proven += proven_shapes(operation, tried);
  }
  if (proven >= least_shapes) return;
  throw count_error("counted flops: the closed form of " + choice.op + " can be proven at " + std::to_string(proven) +
                    " shapes only, expected " + std::to_string(least_shapes) +
                    "; give its case_info more test_shapes or test_extents");
}

#define PRUMO_INSTANTIATE_COUNT_PROOF(Space)                                                           \
  template flop_counts proven_count<Space>(const operation_case<Space>&, const specification& choice); \
  template void prove_closed_form<Space>(const operation_case<Space>&, const specification& choice);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_COUNT_PROOF)

}  // namespace prumo::cases
