// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/specification.hpp>
#include <prumo/error.hpp>

namespace prumo::cases {

template <class Value>
const Value& named_values<Value>::at(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  std::string known;
  for (const auto& [key, value] : entries_) known += (known.empty() ? "" : ", ") + key;
  throw argument_error("there is no '" + std::string(name) + "' here; there are: " + (known.empty() ? "none" : known));
}

template <class Value>
void named_values<Value>::set(std::string_view name, Value value) {
  for (auto& [key, old] : entries_) {
    if (key == name) {
      old = value;
      return;
    }
  }
  entries_.emplace_back(std::string(name), value);
}

template class named_values<std::int64_t>;
template class named_values<double>;

std::string_view layout_name(array_layout layout) {
  switch (layout) {
    case array_layout::right: return "right";
    case array_layout::left: return "left";
    case array_layout::strided: return "strided";
  }
  return "?";
}

}  // namespace prumo::cases
