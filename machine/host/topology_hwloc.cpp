// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topology.hpp"

#include <hwloc.h>

#include <memory>

namespace prumo::machine::host {

namespace {

struct destroy_topology {
  void operator()(hwloc_topology_t handle) const { hwloc_topology_destroy(handle); }
};
using topology_handle = std::unique_ptr<hwloc_topology, destroy_topology>;

topology_handle load() {
  hwloc_topology_t handle = nullptr;
  if (hwloc_topology_init(&handle) != 0) return nullptr;
  topology_handle owner(handle);
  // This reads the whole machine. What this process may use of it is found out elsewhere.
  hwloc_topology_set_flags(handle, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(handle) != 0) return nullptr;
  return owner;
}

std::vector<int> members_of(hwloc_const_bitmap_t set) {
  std::vector<int> members;
  if (set == nullptr) return members;
  for (int member = hwloc_bitmap_first(set); member >= 0; member = hwloc_bitmap_next(set, member)) {
    members.push_back(member);
  }
  return members;
}

int ancestor_index(hwloc_topology_t handle, hwloc_obj_type_t type, hwloc_obj_t object, int otherwise) {
  const hwloc_obj_t ancestor = hwloc_get_ancestor_obj_by_type(handle, type, object);
  return ancestor == nullptr ? otherwise : static_cast<int>(ancestor->logical_index);
}

#if HWLOC_API_VERSION >= 0x20400
/// hwloc orders kinds from the slowest to the fastest.
void read_kinds(hwloc_topology_t handle, topology& machine) {
  const int count = hwloc_cpukinds_get_nr(handle, 0);
  if (count < 2) return;
  std::vector<kind_of_core> kinds;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  for (int index = count - 1; index >= 0; --index) {
    int efficiency = -1;
    if (hwloc_cpukinds_get_info(handle, static_cast<unsigned>(index), set.get(), &efficiency, nullptr, nullptr, 0) !=
        0) {
      return;
    }
    if (efficiency < 0) return;  // hwloc does not know the order
    const int place = static_cast<int>(kinds.size());
    kinds.push_back({place == 0 ? "performance" : index == 0 ? "efficiency" : "middle", {}, {}});
    for (hardware_thread& thread : machine.threads) {
      if (hwloc_bitmap_isset(set.get(), static_cast<unsigned>(thread.cpu))) thread.kind = place;
    }
  }
  machine.kinds = std::move(kinds);
}
#endif

}  // namespace

std::optional<topology> read_topology_of_hwloc() {
  const topology_handle owner = load();
  if (!owner) return std::nullopt;
  hwloc_topology_t handle = owner.get();
  topology machine;
  machine.source = "hwloc";
  machine.kinds = {{"core", {}, {}}};
  for (hwloc_obj_t unit = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_PU, nullptr); unit != nullptr;
       unit = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_PU, unit)) {
    hardware_thread thread;
    thread.cpu = static_cast<int>(unit->os_index);
    thread.core = ancestor_index(handle, HWLOC_OBJ_CORE, unit, thread.cpu);
    thread.package = ancestor_index(handle, HWLOC_OBJ_PACKAGE, unit, 0);
    const auto nodes = members_of(unit->nodeset);
    if (!nodes.empty()) thread.numa_node = nodes.front();
    machine.threads.push_back(thread);
  }
  for (const auto& [type, level] :
       {std::pair{HWLOC_OBJ_L1CACHE, 1}, {HWLOC_OBJ_L2CACHE, 2}, {HWLOC_OBJ_L3CACHE, 3}, {HWLOC_OBJ_L4CACHE, 4}}) {
    for (hwloc_obj_t object = hwloc_get_next_obj_by_type(handle, type, nullptr); object != nullptr;
         object = hwloc_get_next_obj_by_type(handle, type, object)) {
      const auto bytes = static_cast<std::int64_t>(object->attr->cache.size);
      if (bytes > 0) machine.caches.push_back({level, bytes, members_of(object->cpuset)});
    }
  }
#if HWLOC_API_VERSION >= 0x20400
  read_kinds(handle, machine);
#endif
  if (machine.threads.empty()) return std::nullopt;
  return machine;
}

}  // namespace prumo::machine::host
