// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/elementwise_instantiation.hpp>
#include <prumo/memory.hpp>

#define PRUMO_INSTANTIATE_WORD(Space, Word)                             \
  PRUMO_INSTANTIATE_ELEMENTWISE(Space, prumo::fill_formula<Word>, Word) \
  PRUMO_INSTANTIATE_ELEMENTWISE(Space, prumo::copy_formula<Word>, Word, Word)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_WORD, std::uint16_t)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_WORD, std::uint32_t)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_WORD, std::uint64_t)
