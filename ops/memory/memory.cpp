// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_formulas.hpp"
#include <prumo/detail/elementwise.hpp>
#include <prumo/detail/enqueue_fill.hpp>
#include <prumo/detail/word.hpp>
#include <prumo/memory.hpp>

namespace prumo {

void detail::enqueue_fill(const instance_ref& space, const std::string& label, double value, const array_ref& y) {
  with_space(space.space(), [&]<class Exec> {
    with_word(y.type, [&]<class Word> {
      launch_elementwise<Word>(space.instance<Exec>(), label, fill_formula<Word>{word_of_value<Word>(value, y.type)},
                               space.working_set(), y);
    });
  });
}

void fill(instance_ref space, double value, const array_ref& y) {
  static const detail::elementwise_name name("prumo::fill");
  detail::check_elementwise(name, space, {"y", y}, {});
  detail::enqueue_fill(space, name.label, value, y);
}

void copy(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::copy");
  detail::check_elementwise(name, space, {"y", y}, {{"x", x}});
  detail::with_space(space.space(), [&]<class Exec> {
    detail::with_word(y.type, [&]<class Word> {
      detail::launch_elementwise<Word, Word>(space.instance<Exec>(), name.label, copy_formula<Word>{},
                                             space.working_set(), y, x);
    });
  });
}

}  // namespace prumo
