// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plain_training.hpp"

#include <cstring>
#include <type_traits>

namespace prumo::nets {
namespace {

struct alignas(32) scratch_line {
  unsigned char bytes[32];
};

/// The scratch memory of some teams, so filled that numbers which nobody has written are none.
class scratch_of_teams {
 public:
  scratch_of_teams(const step_table& table, int teams)
      : lines_of_team_(static_cast<std::size_t>(table.scratch_bytes) / sizeof(scratch_line) + 1),
        lines_(static_cast<std::size_t>(teams) * lines_of_team_) {
    std::memset(lines_.data(), 0xff, lines_.size() * sizeof(scratch_line));
  }

  unsigned char* of(int team) { return lines_[static_cast<std::size_t>(team) * lines_of_team_].bytes; }

 private:
  std::size_t lines_of_team_;
  std::vector<scratch_line> lines_;
};

/// In the place of a meeting where there is none.
struct no_place_to_meet {
  void arrive(bool, int) const { ADD_FAILURE() << "a team of a launch that has no meeting arrived at one"; }
  void wait() const { ADD_FAILURE() << "a team of a launch that has no meeting waited at one"; }
};

}  // namespace

std::vector<double> after_steps(plain_training training, int size) {
  const step_data<double> data = training.data(training.options.batch == 1 ? training.set.images : 2);
  scratch_of_teams scratch(training.table, 1);
  const auto run = [&](const auto& team) {
    using team_type = std::decay_t<decltype(team)>;
    const step_body<team_type, double> body(team, data, step_scratch<double>(scratch.of(0)));
    if (training.table.batch == 1) {
      run_steps<true>(body, step_part::all, {0, 1}, no_meeting{});
    } else {
      run_steps<false>(body, step_part::all, {0, 1}, no_meeting{});
    }
  };
  if (size == 1) {
    run(single_step_team{});
  } else if (training.table.shape == step_shape::many_weights) {
    with_team<step_shape::many_weights>(size, run);
  } else if (training.table.shape == step_shape::many_images) {
    with_team<step_shape::many_images>(size, run);
  } else if (training.table.shape == step_shape::staged) {
    with_team<step_shape::staged>(size, run);
  } else if (training.table.shape == step_shape::windows && training.table.batch == 1) {
    with_team<step_shape::windows>(size, run);
  } else if (training.table.shape == step_shape::windows) {
    return after_meeting_steps(training, 1, size, -1);
  } else {
    with_team<step_shape::few_images>(size, run);
  }
  return training.result();
}

std::vector<double> after_meeting_steps(plain_training training, int teams, int size, int late) {
  const step_data<double> data = training.data(2);
  scratch_of_teams scratch(training.table, teams);
  emulated_threads threads;
  int arrived = 0;
  with_teams<step_shape::windows>(threads, teams, size, late, [&](const auto& team, int which) {
    using team_type = std::decay_t<decltype(team)>;
    const step_body<team_type, double> body(team, data, step_scratch<double>(scratch.of(which)));
    run_steps<false>(body, step_part::all, {which, teams}, emulated_meeting(threads, team, teams, arrived));
  });
  return training.result();
}

std::vector<double> after_separate_steps(plain_training training, int teams, int size) {
  constexpr std::int64_t steps = 2;
  for (std::int64_t step = 0; step < steps; ++step) {
    step_data<double> data = training.data(1);
    data.first_step = step;
    data.order += step * training.options.batch;
    for (const step_part part : {step_part::images, step_part::update}) {
      scratch_of_teams scratch(training.table, teams);
      emulated_threads threads;
      with_teams<step_shape::windows>(threads, teams, size, -1, [&](const auto& team, int which) {
        using team_type = std::decay_t<decltype(team)>;
        const step_body<team_type, double> body(team, data, step_scratch<double>(scratch.of(which)));
        run_steps<false>(body, part, {which, teams}, no_place_to_meet{});
      });
    }
  }
  return training.result();
}

std::vector<double> after_shared_steps(plain_training training, int teams, int size, int late) {
  std::vector<step_table> tables(static_cast<std::size_t>(teams));
  std::vector<net_share> shares(tables.size());
  std::vector<step_places> places;
  std::vector<scratch_of_teams> scratch;
  std::vector<unsigned char*> memory;
  for (std::size_t team = 0; team < tables.size(); ++team) {
    shares[team].team = static_cast<int>(team);
    shares[team].teams = teams;
    EXPECT_EQ(make_shared_table(training.request(), tables[team], shares[team]), "");
    places.push_back(make_step_places(tables[team], &shares[team]));
    scratch.emplace_back(tables[team], 1);
    memory.push_back(scratch.back().of(0));
  }
  const auto run = [&](const emulated_share_team& team, int which, const auto& meet) {
    const auto of_team = static_cast<std::size_t>(which);
    step_data<double> data = training.data(training.set.images);
    data.table = &tables[of_team];
    data.share = &shares[of_team];
    data.copies = places[of_team].copies.data();
    data.filter_parameters = places[of_team].filter_parameters.data();
    const step_body<emulated_share_team, double> body(team, data, step_scratch<double>(memory[of_team]));
    run_steps<true>(body, step_part::all, {which, teams}, meet);
  };
  with_cluster(size, memory, late, run);
  return training.result();
}

void expect_same_sums(const std::vector<double>& together, const std::vector<double>& alone, const std::string& name) {
  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_NEAR(together[i], alone[i], 1e-12 * (1 + std::fabs(alone[i]))) << name << ", number " << i;
  }
}

}  // namespace prumo::nets
