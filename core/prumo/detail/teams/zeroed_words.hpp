// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Words by which the teams of a device's kernel communicate.

#include <prumo/context.hpp>
#include <prumo/detail/elementwise_kernel.hpp>

#include <cstdint>
#include <string>

namespace prumo::detail {

template <class Word>
struct clear_words_kernel {
  Word* words;
  std::int64_t count;
  std::int64_t blocks() const { return count; }
  KOKKOS_FUNCTION void operator()(std::int64_t which) const { words[which] = 0; }
};

/// Purpose::count words of type Purpose::word that are 0 between kernels: every kernel that writes to them sets them
/// back. They belong to a context, but are no part of its workspace. Any operation may write to the workspace, and it
/// moves when it grows.
template <class Exec, class Purpose>
class zeroed_words {
  using word = typename Purpose::word;

 public:
  /// The words of a context. The first call allocates them.
  static word* of(context<Exec>& ctx) {
    return ctx.template attachment<zeroed_words>([&] { return zeroed_words(ctx.instance()); }).words_.data();
  }

 private:
  explicit zeroed_words(const Exec& instance)
      : words_(Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, std::string(Purpose::label)), Purpose::count) {
    launch_blocks(instance, "prumo::clear_words", clear_words_kernel<word>{words_.data(), Purpose::count});
  }

  Kokkos::View<word*, typename Exec::memory_space> words_;
};

}  // namespace prumo::detail
