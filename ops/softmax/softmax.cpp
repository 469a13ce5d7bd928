// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_kernel.hpp"

#include <string>

namespace prumo::detail {
namespace {

const std::string rows_label = "prumo::softmax::rows";

}  // namespace

template <class Exec, class T>
void launch_softmax(context<Exec>& ctx, const softmax_problem<T>& problem) {
  static_assert(is_host_space<Exec>, "prumo::softmax: this execution space has no kernel yet");
  const std::size_t footprint = static_cast<std::size_t>(problem.rows * problem.columns) * 2 * sizeof(T);
  const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set);
  launch_blocks(ctx.instance(), rows_label, softmax_host_kernel<T>(problem, streaming));
}

#define PRUMO_INSTANTIATE_SOFTMAX(Space)                                                        \
  template void launch_softmax<Space, float>(context<Space>&, const softmax_problem<float>&);   \
  template void launch_softmax<Space, double>(context<Space>&, const softmax_problem<double>&); \
  template void launch_softmax<Space, f16>(context<Space>&, const softmax_problem<f16>&);       \
  template void launch_softmax<Space, bf16>(context<Space>&, const softmax_problem<bf16>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_SOFTMAX)

}  // namespace prumo::detail
