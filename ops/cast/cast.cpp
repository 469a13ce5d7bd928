// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cast_formula.hpp"
#include <prumo/cast.hpp>
#include <prumo/detail/elementwise.hpp>

namespace prumo {

void cast(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::cast");
  check::elementwise(name.operation, space, {{"y", y}}, {{"x", x}});
  check::same_scalar_type(name.operation, {{"x", x}});
  check::same_scalar_type(name.operation, {{"y", y}});
  detail::with_space_and_scalar(space.space(), x.type, [&]<class Exec, class From> {
    detail::with_scalar(y.type, [&]<class To> {
      detail::launch_elementwise<To, From>(space.instance<Exec>(), name.label, cast_formula<From, To>{},
                                           space.working_set(), y, x);
    });
  });
}

}  // namespace prumo
