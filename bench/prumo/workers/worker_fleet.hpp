// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_client.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// A device that a worker offers.
struct fleet_device {
  std::string id;  ///< how results and the user call it: unique, `openmp:0`, or `openmp:0@old` where two workers clash
  std::string own_id;           ///< how its worker calls it
  std::size_t worker = 0;       ///< index in worker_fleet
  bool peer = false;            ///< another framework beside which prumo is measured: taken only when asked for
  bool of_other_build = false;  ///< of `--against`; its id is that of this build's device with a suffix
  std::string missing;          ///< why a peer or device that was asked for is not there; empty: it is
  std::optional<int> threads;   ///< that work on it, where it is measured with several numbers of them
  std::string fixed_threads;    ///< why it cannot be measured with `threads`; empty: it can
  protocol::device_summary summary;
  nlohmann::json entry;  ///< the results file's entry of `devices`

  /// `openmp:0`, or `openmp:0 (2 threads)` where there are several of that id.
  [[nodiscard]] std::string label() const;
};

/// True for a device to which data have to be copied and back; by its number of threads where it does not tell.
[[nodiscard]] bool has_transfers(const protocol::device_summary& device);

/// All workers of a run and the devices that they offer.
class worker_fleet {
 public:
  worker_fleet(std::vector<worker_launch> launches, worker_client::options how);

  /// Starts all workers at once and asks who is there. A worker that cannot be used becomes a note.
  /// \throws interrupted
  void start();

  /// Keeps the devices that the filters name: an id (`openmp:0`), a backend (`openmp`), an id without its worker
  /// (`openmp:0` for `openmp:0@old`), or `all`. Without a filter, peers are left out unless a worker was named by the
  /// user. All devices of `peers` stay, too, unless filters choose among them. A peer or device of one that is asked
  /// for and not there stays as a device that is missing.
  /// \throws program_error: no device at all, or an unknown one (this machine cannot)
  void select_devices(std::span<const std::string> filters, std::span<const std::string> named_workers,
                      std::span<const std::string> peers = {});

  /// Keeps of two builds the devices that both have. What only one has becomes a note.
  /// \throws program_error (wrong usage) where there is none; the message tells what each build has
  void match_builds();

  /// Puts in the place of each device of the host one for each number of threads that `words` of --threads ask for,
  /// each with a worker process of its own whose threads are bound close. Where a worker starts another number of
  /// threads than it is told, the device says so.
  /// \throws program_error (wrong usage) where no device is the host's, and as thread_numbers()
  void spread_over_threads(std::span<const std::string> words);

  /// Ends all workers and starts them again: fresh processes. The other build's are started first where `other_first`.
  /// One that does not come back fails the cases that need it.
  void restart(bool other_first);

  /// Asks each selected device for its facts and peaks and fills in its entry. A worker that fails here becomes a
  /// note, its entry keeps what hello told.
  void read_facts();

  [[nodiscard]] worker_client& worker(std::size_t index) { return workers_[index]; }
  [[nodiscard]] const worker_client& worker(std::size_t index) const { return workers_[index]; }
  [[nodiscard]] std::vector<fleet_device>& devices() { return devices_; }
  [[nodiscard]] const std::vector<fleet_device>& devices() const { return devices_; }

  /// The description of an operation or probe by the device's worker; null where it has none or the device is missing.
  [[nodiscard]] const protocol::case_description* find_case(const fleet_device& device, const std::string& op) const;

  /// The parameters of an operation as the device's worker can take them. An older worker lacks parameters that came
  /// later, and computes what their defaults mean: those are left out if they have their defaults.
  [[nodiscard]] nlohmann::json parameters_for(const fleet_device& device, const std::string& op,
                                              nlohmann::json parameters) const;

  /// What the user should know of workers that could not be used, and their own warnings.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }

  /// The `devices` of a results document.
  [[nodiscard]] nlohmann::json device_entries() const;

  /// The versions of the workers of all devices and of the libraries that they use, for the record of a run.
  [[nodiscard]] nlohmann::json worker_versions() const;

  /// Ends all workers in order.
  void quit() noexcept;

 private:
  void add_device(std::size_t worker, const protocol::hello_answer& hello, const protocol::device_summary& summary);
  [[nodiscard]] nlohmann::json entry_of(const fleet_device& device, const protocol::hello_answer& hello) const;
  void add_warnings(const worker_client& worker, const protocol::hello_answer& hello);
  [[nodiscard]] nlohmann::json facts_of_all_processors();
  [[nodiscard]] fleet_device with_threads(const fleet_device& device, int threads, std::size_t worker);
  [[nodiscard]] bool matches(const fleet_device& device, const std::string& filter) const;
  [[nodiscard]] bool is_wanted(const fleet_device& device, std::span<const std::string> filters,
                               std::span<const std::string> named_workers, std::span<const std::string> peers) const;
  /// Why no device answers to the name of a peer or of a peer's device, and where; absent where it is no peer's.
  [[nodiscard]] std::optional<fleet_device> explain_missing(const std::string& asked) const;
  void drop_devices(const std::function<bool(const fleet_device&)>& unwanted);

  std::deque<worker_client> workers_;
  /// A worker that could not be started: in its own words where it has some, and as a note.
  struct failed_start {
    std::string why;
    std::string note;
  };
  std::map<std::size_t, failed_start> unusable_;  ///< by index
  std::vector<fleet_device> devices_;
  /// The first device of prumo's own for the host, selected or not: it knows the processors.
  std::optional<fleet_device> own_host_;
  std::vector<std::string> notes_;
};

}  // namespace prumo::bench
