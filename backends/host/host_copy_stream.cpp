// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/copy_stream.hpp>

namespace prumo::backend {

#define PRUMO_DEFINE_COPY_STREAM(Space) \
  std::unique_ptr<copy_stream> make_copy_stream(const Space&) { return nullptr; }
PRUMO_IF_SERIAL(PRUMO_DEFINE_COPY_STREAM(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_COPY_STREAM(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_COPY_STREAM(Kokkos::Threads))
#undef PRUMO_DEFINE_COPY_STREAM

}  // namespace prumo::backend
