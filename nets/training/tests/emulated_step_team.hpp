// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The team of a training step on a device, with threads of the host that exchange values as lanes do. A program that
/// includes this runs the functions of a step on hosts only.

#define PRUMO_STEP_FUNCTION inline  // emulated teams are threads of the host
#include "../fused/step_loop.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace prumo::nets {

/// Lanes that a stretch of an emulated team has: fewer than on a device, so that tests are quick.
constexpr int emulated_lanes = 8;

/// The threads of a team as coroutines of this thread, so that a barrier takes no time of the system. Each runs until
/// it has to wait, and the next one then goes on.
class emulated_threads {
 public:
  /// \param waits(round, rank) whether a thread is passed over in a round
  template <class Function, class Waits>
  void run(int count, const Function& function, const Waits& waits) {
    static constexpr std::size_t stack_bytes = 1 << 20;
    body_ = [&](int rank) { function(rank); };
    running_ = std::vector<emulated_thread>(static_cast<std::size_t>(count));
    current_of_all = this;
    for (emulated_thread& each : running_) {
      each.stack = std::make_unique<char[]>(stack_bytes);
      getcontext(&each.place);
      each.place.uc_stack.ss_sp = each.stack.get();
      each.place.uc_stack.ss_size = stack_bytes;
      each.place.uc_link = &scheduler_;
      makecontext(&each.place, &emulated_threads::begin, 0);
    }
    int round = 0;
    for (int left = count; left > 0; ++round) {
      for (current_ = 0; current_ < running_.size(); ++current_) {
        emulated_thread& next = running_[current_];
        if (next.is_done || waits(round, static_cast<int>(current_))) continue;
        swapcontext(&scheduler_, &next.place);
        if (next.is_done) --left;
      }
    }
  }

  template <class Function>
  void run(int count, const Function& function) {
    run(count, function, [](int, int) { return false; });
  }

  /// Lets the others run.
  void yield() { swapcontext(&running_[current_].place, &scheduler_); }

 private:
  struct emulated_thread {
    ucontext_t place{};
    std::unique_ptr<char[]> stack;
    bool is_done = false;
  };

  static void begin() {
    emulated_threads& all = *current_of_all;
    all.body_(static_cast<int>(all.current_));
    all.running_[all.current_].is_done = true;
  }

  static inline emulated_threads* current_of_all = nullptr;
  std::function<void(int)> body_;
  std::vector<emulated_thread> running_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
};

class emulated_barrier {
 public:
  emulated_barrier(emulated_threads& threads, int count) : threads_(&threads), count_(count) {}

  void arrive_and_wait() {
    const int round = round_;
    if (++arrived_ == count_) {
      arrived_ = 0;
      ++round_;
    }
    while (round == round_) threads_->yield();
  }

 private:
  emulated_threads* threads_;
  int count_;
  int arrived_ = 0;
  int round_ = 0;
};

/// What the threads of a stretch share.
struct emulated_stretch {
  emulated_barrier barrier;
  double values[emulated_lanes] = {};
};

template <step_shape Shape>
class emulated_step_team {
 public:
  static constexpr int lanes = emulated_lanes;
  static constexpr bool takes_vectors = false;
  static constexpr step_shape shape = Shape;

  emulated_step_team(int rank, int size, emulated_barrier& all, emulated_stretch& stretch)
      : rank_(rank), size_(size), all_(all), stretch_(stretch) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  void barrier() const { all_.arrive_and_wait(); }
  int lane() const { return rank_ % lanes; }
  int stretch() const { return rank_ / lanes; }
  int stretches() const { return size_ / lanes; }
  static bool same_in_stretch(bool value) { return value; }
  template <class T>
  T across(T value, int distance) const {
    stretch_.values[lane()] = static_cast<double>(value);
    stretch_.barrier.arrive_and_wait();
    const auto result = static_cast<T>(stretch_.values[lane() ^ distance]);
    stretch_.barrier.arrive_and_wait();
    return result;
  }

 private:
  int rank_, size_;
  emulated_barrier& all_;
  emulated_stretch& stretch_;
};

/// Runs function(team) with all threads of a team.
template <step_shape Shape, class Function>
void with_team(int size, const Function& function) {
  emulated_threads threads;
  emulated_barrier all(threads, size);
  std::vector<emulated_stretch> stretches(static_cast<std::size_t>(size / emulated_lanes),
                                          {emulated_barrier(threads, emulated_lanes)});
  threads.run(size, [&](int rank) {
    function(emulated_step_team<Shape>(rank, size, all, stretches[static_cast<std::size_t>(rank / emulated_lanes)]));
  });
}

/// Teams that send values to each other.
class emulated_cluster {
 public:
  emulated_cluster(emulated_threads& threads, const std::vector<unsigned char*>& scratch)
      : threads_(threads),
        scratch_(scratch),
        arrived_(scratch.size(), std::vector<std::int64_t>(static_cast<std::size_t>(most_exchanges))) {}

  template <class C>
  void send(const team_exchange& exchange, int from, const C* place, int to, C value) {
    const auto offset = reinterpret_cast<const unsigned char*>(place) - scratch_[static_cast<std::size_t>(from)];
    *reinterpret_cast<C*>(scratch_[static_cast<std::size_t>(to)] + offset) = value;
    ++arrived(exchange, to);
  }
  void receive(const team_exchange& exchange, int team, int count) {
    while (arrived(exchange, team) < std::int64_t{count} * (exchange.turn + 1)) threads_.yield();
  }

 private:
  std::int64_t& arrived(const team_exchange& exchange, int team) {
    return arrived_[static_cast<std::size_t>(team)][static_cast<std::size_t>(exchange.which)];
  }

  emulated_threads& threads_;
  std::vector<unsigned char*> scratch_;
  std::vector<std::vector<std::int64_t>> arrived_;
};

/// A team that shares a net.
class emulated_share_team : public emulated_step_team<step_shape::share> {
 public:
  emulated_share_team(const emulated_step_team<step_shape::share>& alone, int team, emulated_cluster& cluster)
      : emulated_step_team<step_shape::share>(alone), team_(team), cluster_(cluster) {}

  struct receiver {
    emulated_cluster& cluster;
    team_exchange exchange;
    int from, team;

    template <class C>
    void send(const C* place, C value) const {
      cluster.send(exchange, from, place, team, value);
    }
  };
  receiver to(const team_exchange& exchange, int team) const { return {cluster_, exchange, team_, team}; }
  template <class C>
  void receive(const team_exchange& exchange, int count) const {
    cluster_.receive(exchange, team_, count);
  }

 private:
  int team_;
  emulated_cluster& cluster_;
};

/// Runs function(team, its number) with all threads of some teams.
/// \param late a team whose threads mostly wait while the others run; -1: none
template <step_shape Shape, class Function>
void with_teams(emulated_threads& threads, int teams, int size, int late, const Function& function) {
  std::vector<emulated_barrier> all(static_cast<std::size_t>(teams), emulated_barrier(threads, size));
  std::vector<emulated_stretch> stretches(static_cast<std::size_t>(teams * size / emulated_lanes),
                                          {emulated_barrier(threads, emulated_lanes)});
  const auto run = [&](int thread) {
    const int team = thread / size, rank = thread % size;
    function(emulated_step_team<Shape>(rank, size, all[static_cast<std::size_t>(team)],
                                       stretches[static_cast<std::size_t>(thread / emulated_lanes)]),
             team);
  };
  constexpr int rounds_of_late_team = 40;
  threads.run(teams * size, run,
              [&](int round, int thread) { return thread / size == late && round % rounds_of_late_team != 0; });
}

/// Runs function(team, its number, meet) with all threads of the teams of a cluster.
/// \param scratch of each team
/// \param late of with_teams()
template <class Function>
void with_cluster(int size, const std::vector<unsigned char*>& scratch, int late, const Function& function) {
  const int teams = static_cast<int>(scratch.size());
  emulated_threads threads;
  emulated_cluster cluster(threads, scratch);
  emulated_barrier everywhere(threads, teams * size);
  with_teams<step_shape::share>(threads, teams, size, late, [&](const auto& alone, int team) {
    function(emulated_share_team(alone, team, cluster), team, [&] { everywhere.arrive_and_wait(); });
  });
}

/// Where the teams of a grid meet, as one thread sees it.
template <class Team>
class emulated_meeting {
 public:
  emulated_meeting(emulated_threads& threads, const Team& team, int teams, int& arrived)
      : threads_(threads), team_(team), teams_(teams), arrived_(arrived) {}

  void operator()() {
    arrive(true, teams_);
    wait();
  }
  void arrive(bool arrives, int of_teams) {
    wanted_ += of_teams;
    if (!arrives) return;
    team_.barrier();
    if (team_.rank() == 0) ++arrived_;
  }
  void wait() {
    while (arrived_ < wanted_) threads_.yield();
    team_.barrier();
  }

 private:
  emulated_threads& threads_;
  const Team& team_;
  int teams_, wanted_ = 0;
  int& arrived_;  ///< of all teams
};

}  // namespace prumo::nets
