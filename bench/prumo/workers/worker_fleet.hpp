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
  std::string id;      ///< its unique name for results and the user: `openmp:0`, or `openmp:0@old` if two workers clash
  std::string own_id;  ///< its name in its worker
  std::size_t worker = 0;       ///< index in worker_fleet
  bool peer = false;            ///< of another framework: only used when asked for
  bool of_other_build = false;  ///< of `--against`; its id is the id of this build's device with a suffix
  std::string missing;          ///< why a worker or device that belongs here is not there; empty if it is
  std::optional<int> threads;   ///< the number of threads, if it is measured with several numbers
  std::string fixed_threads;    ///< why it cannot be measured with `threads`; empty if it can
  protocol::device_summary summary;
  nlohmann::json entry;  ///< the results file's entry of `devices`

  /// `openmp:0`, or `openmp:0 (2 threads)` if there are several devices of that id.
  [[nodiscard]] std::string label() const;
};

/// True for a device that data have to be copied to and from. If the device does not say, its number of threads
/// decides.
[[nodiscard]] bool has_transfers(const protocol::device_summary& device);

/// All workers of a run and the devices that they offer.
class worker_fleet {
 public:
  worker_fleet(std::vector<worker_launch> launches, worker_client::options how);

  /// Starts all workers at once and says hello to them. If a worker cannot be used, a note says so.
  /// \throws interrupted
  void start();

  /// Keeps the devices that the filters name: an id (`openmp:0`), a backend (`openmp`), an id without its worker
  /// (`openmp:0` for `openmp:0@old`), or `all`. Without a filter, peers are left out unless a worker was named by the
  /// user. All devices of `peers` stay, too, unless filters choose among them. If a worker, a peer or its device was
  /// asked for and is not there, it stays as a missing device. So does one of prumo's own workers that is broken,
  /// unless the filters leave it out. Peers are never measured in its place.
  /// \throws program_error: no device at all, or an unknown one (this machine cannot)
  void select_devices(std::span<const std::string> filters, std::span<const std::string> named_workers,
                      std::span<const std::string> peers = {});

  /// Keeps the devices that both builds have. Notes name the others.
  /// \throws program_error (wrong usage) if there is none; the message says what each build has
  void match_builds();

  /// Replaces each host device by one for each number of threads in `words`, the values of --threads. Each of them has
  /// its own worker process, whose threads are bound close. If a worker starts another number of threads, the device
  /// says so.
  /// \throws program_error (wrong usage) if there is no host device, and as thread_numbers()
  void spread_over_threads(std::span<const std::string> words);

  /// Ends all workers and starts fresh processes, those of the other build first if `other_first`. If a worker does not
  /// come back, the cases that need it fail.
  void restart(bool other_first);

  /// Asks each selected device for its facts and peaks and fills in its entry. If a worker fails here, a note says so,
  /// and the entry keeps what the worker said in `hello`.
  void read_facts();

  [[nodiscard]] worker_client& worker(std::size_t index) { return workers_[index]; }
  [[nodiscard]] const worker_client& worker(std::size_t index) const { return workers_[index]; }
  [[nodiscard]] std::vector<fleet_device>& devices() { return devices_; }
  [[nodiscard]] const std::vector<fleet_device>& devices() const { return devices_; }

  /// The description of an operation or probe by the device's worker; null if it has none or if the device is missing.
  [[nodiscard]] const protocol::case_description* find_case(const fleet_device& device, const std::string& op) const;

  /// The parameters of an operation for the device's worker. An older worker lacks parameters that came later, and
  /// computes as with their defaults. So such parameters are left out if they have their defaults.
  [[nodiscard]] nlohmann::json parameters_for(const fleet_device& device, const std::string& op,
                                              nlohmann::json parameters) const;

  /// The names of workers, peers and devices that were asked for or belong to prumo, and are not there. A run without
  /// them is not complete.
  [[nodiscard]] const std::vector<std::string>& absent() const { return absent_; }

  /// Notes about workers that could not be used, and the workers' own warnings.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }

  /// The `devices` of a results document.
  [[nodiscard]] nlohmann::json device_entries() const;

  /// The versions of the workers of all devices and of the libraries that they use, for the record of a run.
  [[nodiscard]] nlohmann::json worker_versions() const;

  /// The processes of the workers that are running.
  [[nodiscard]] std::vector<int> process_ids() const;

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
  /// Why there is no device of this name of a peer or of a peer's device; absent if it is no such name.
  [[nodiscard]] std::optional<fleet_device> explain_missing(const std::string& asked) const;
  [[nodiscard]] fleet_device missing_device(std::size_t worker, const std::string& id, const std::string& why) const;
  [[nodiscard]] std::vector<fleet_device> broken_workers(std::span<const std::string> filters,
                                                         std::span<const std::string> named_workers) const;
  void drop_devices(const std::function<bool(const fleet_device&)>& unwanted);

  std::deque<worker_client> workers_;
  /// A worker that could not be started.
  struct failed_start {
    std::string why;   ///< in its own words if it has some
    std::string note;  ///< names the worker, too
    bool broken;       ///< it is not just that this machine lacks its device
  };
  std::map<std::size_t, failed_start> unusable_;  ///< by index
  std::vector<fleet_device> devices_;
  /// The first host device of prumo's own workers, selected or not. It knows the processors.
  std::optional<fleet_device> own_host_;
  std::vector<std::string> absent_;
  std::vector<std::string> notes_;
};

}  // namespace prumo::bench
