// hosts.hpp - the hosts of a world, by number. Each may be cut from all others for a time, and may
// die and come back with nothing on it.
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "world/seams/timeline.hpp"

namespace holon::world {

// Users that every Debian has, beside the one that the instances belong to.
inline constexpr std::array<uid_t, 2> kPeople = {1, 65534};

// A machine with so many cores, as hwloc shows it.
std::string machine_with(std::int64_t cores, const std::string& name);

class Hosts {
 public:
  // The host of a process that stands for people on each host: nothing cuts it off.
  static constexpr int kEverywhere = -1;

  // The name of its node.
  static std::string name_of(int host) { return "node" + std::to_string(host); }

  bool is_up(int host) const { return !dead_.contains(host); }
  void die(int host) { dead_.insert(host); }
  void come_back(int host) { dead_.erase(host); }

  void cut(int host, Micros until) { cut_until_[host] = until; }
  // The time until which nothing passes between these two; if it is over, messages pass.
  Micros cut_until(int one, int other) const {
    if (one == other || one == kEverywhere || other == kEverywhere) return 0;
    return std::max(cut_until(one), cut_until(other));
  }
  // Ends all cuts, and brings all hosts back.
  void heal() {
    cut_until_.clear();
    dead_.clear();
  }

  // The topology by hwloc, where hosts are machines and not declared; "": they are declared.
  const std::string& topology(int host) const {
    static const std::string kNone;
    const auto found = topologies_.find(host);
    return found == topologies_.end() ? kNone : found->second;
  }
  void set_topology(int host, std::string xml) { topologies_[host] = std::move(xml); }

  // The most by which a message between two hosts takes longer than within one.
  Micros distance = 0;

 private:
  Micros cut_until(int host) const {
    const auto found = cut_until_.find(host);
    return found == cut_until_.end() ? 0 : found->second;
  }

  std::set<int> dead_;
  std::map<int, Micros> cut_until_;
  std::map<int, std::string> topologies_;
};

}  // namespace holon::world
