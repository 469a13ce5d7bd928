// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/detail/instruction_set.hpp>

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// How teams share the images of a batch, or bands of them. A team takes an item of several images at a time. Teams
/// take whole items in turns, as long as there is one for each of them. The images that are left are shared equally, so
/// no team has more than one image more than another. Neighbouring teams have neighbouring images at any time.
struct item_shares {
  int teams = 1;
  int of_item = 1;          ///< images, at most
  int whole_items = 0;      ///< of each team
  int rest_of_each = 0;     ///< images behind all whole items, of each team
  int teams_with_more = 0;  ///< of these have one more

  /// \param images or bands in all
  static item_shares of(std::int64_t images, std::int64_t teams, int of_item) {
    if (teams == 0) return {0, of_item, 0, 0, 0};
    const std::int64_t of_turn = teams * of_item, whole = images / of_turn, rest = images - whole * of_turn;
    return {static_cast<int>(teams), of_item, static_cast<int>(whole), static_cast<int>(rest / teams),
            static_cast<int>(rest % teams)};
  }

  /// The first image of a team's first item; end(team) if it has none.
  KOKKOS_FUNCTION std::int64_t first(int team) const {
    return whole_items > 0 ? std::int64_t{team} * of_item : rest_begin(team);
  }
  /// The first image of the item that follows the one which begins with `image`; end(team) if there is none.
  KOKKOS_FUNCTION std::int64_t after(int team, std::int64_t image) const {
    if (image >= whole_end()) return end(team);
    const std::int64_t next = image + std::int64_t{teams} * of_item;
    return next < whole_end() ? next : rest_begin(team);
  }
  /// The end of a team's images.
  KOKKOS_FUNCTION std::int64_t end(int team) const { return rest_begin(team + 1); }
  /// The images of the item that begins with `image`.
  KOKKOS_FUNCTION int count(int team, std::int64_t image) const {
    return image < whole_end() ? of_item : static_cast<int>(end(team) - image);
  }

  /// The images of the last item of the team with the most; 0 if all items are whole.
  int most_of_rest() const { return rest_of_each + (teams_with_more > 0 ? 1 : 0); }

 private:
  KOKKOS_FUNCTION std::int64_t whole_end() const { return std::int64_t{whole_items} * teams * of_item; }
  KOKKOS_FUNCTION std::int64_t rest_begin(int team) const {
    return whole_end() + std::int64_t{team} * rest_of_each + (team < teams_with_more ? team : teams_with_more);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
