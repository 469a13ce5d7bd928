// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/case/registry.hpp>

#include <string>

namespace prumo::cases {

/// The library's own operations, for every enabled space.
inline const case_registries& registries() {
  static const case_registries all = [] {
    case_registries registries;
    register_library_cases(registries);
    return registries;
  }();
  return all;
}

/// One line that names a case in a failure's message.
inline std::string describe(const specification& choice) {
  std::string text =
      choice.op + " " + std::string(dtype_name(choice.type)) + " " + std::string(layout_name(choice.layout));
  for (const auto& [axis, extent] : choice.shape) text += " " + axis + "=" + std::to_string(extent);
  for (const auto& [name, value] : choice.values) text += " " + name + "=" + std::to_string(value);
  return text + " " + choice.implementation;
}

}  // namespace prumo::cases
