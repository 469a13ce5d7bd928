// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// All cases that a program knows. CMake's prumo_add_operation() writes the calls that fill it, so that nothing depends
/// on the linker keeping an object file for the sake of a static initialiser.

#include <prumo/case/operation_case.hpp>
#include <prumo/spaces.hpp>

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace prumo::cases {

/// The cases for one execution space, in the order of registration.
template <class Exec>
class case_registry {
 public:
  using case_pointer = std::unique_ptr<const operation_case<Exec>>;

  void add(case_pointer added) { cases_.push_back(std::move(added)); }
  const std::vector<case_pointer>& all() const { return cases_; }

  /// The case of that operation, or null.
  const operation_case<Exec>* find(std::string_view op) const {
    for (const case_pointer& candidate : cases_) {
      if (candidate->info().op == op) return candidate.get();
    }
    return nullptr;
  }

 private:
  std::vector<case_pointer> cases_;
};

/// The registries of all enabled spaces.
class case_registries {
 public:
  /// Adds `Case<Exec>` for every enabled execution space.
  template <template <class> class Case>
  void add() {
#define PRUMO_ADD_CASE(Space) of<Space>().add(std::make_unique<Case<Space>>());
    PRUMO_FOR_EACH_SPACE(PRUMO_ADD_CASE)
#undef PRUMO_ADD_CASE
  }

  template <class Exec>
  case_registry<Exec>& of() {
    return std::get<case_registry<Exec>>(registries_);
  }
  template <class Exec>
  const case_registry<Exec>& of() const {
    return std::get<case_registry<Exec>>(registries_);
  }

 private:
  struct end_of_list {};
#define PRUMO_REGISTRY_OF(Space) case_registry<Space>,
  std::tuple<PRUMO_FOR_EACH_SPACE(PRUMO_REGISTRY_OF) end_of_list> registries_;
#undef PRUMO_REGISTRY_OF
};

/// Registers the library's own operations.
void register_library_cases(case_registries& registries);

}  // namespace prumo::cases

/// Defines what prumo_add_operation(NAME ...) calls: registers the class templates, each of one execution space.
#define PRUMO_REGISTER_CASES(NAME, ...)                                              \
  void prumo_register_cases_of_##NAME(::prumo::cases::case_registries& registries) { \
    ::prumo::cases::detail::add_all<__VA_ARGS__>(registries);                        \
  }

namespace prumo::cases::detail {
template <template <class> class... Cases>
void add_all(case_registries& registries) {
  (registries.template add<Cases>(), ...);
}
}  // namespace prumo::cases::detail
