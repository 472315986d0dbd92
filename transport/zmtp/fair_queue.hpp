// fair_queue.hpp - who is served next, when several ask for more than there is time for.
//
// Start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) on two levels: groups (the listener's:
// processes, or users) share the server's time equally, and the connections of a group what that
// group gets. Whoever has been idle is served before those who have kept the server busy, and saves
// nothing up by being idle. Private to transport/; knows no sockets and no clock.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace holon::transport {

class FairQueue {
 public:
  using Member = std::uint64_t;
  using Group = std::int64_t;

  // Adds a member with nothing to be served.
  void join(Member member, Group group) {
    members_[member] = {group, 0, false, false};
    ++groups_[group].members;
  }
  void leave(Member member) {
    const auto found = members_.find(member);
    if (found == members_.end()) return;
    set_ready(member, false);
    const auto group = groups_.find(found->second.group);
    if (--group->second.members == 0) groups_.erase(group);
    members_.erase(found);
  }
  // Serves the member before everybody who is not favoured.
  void favour(Member member) {
    const auto found = members_.find(member);
    if (found == members_.end() || found->second.favoured) return;
    const bool was_ready = found->second.ready;
    set_ready(member, false);
    found->second.favoured = true;
    set_ready(member, was_ready);
  }

  // Sets whether `member` has something to be served. O(log members).
  void set_ready(Member member, bool ready) {
    const auto found = members_.find(member);
    if (found == members_.end() || found->second.ready == ready) return;
    Entry& entry = found->second;
    entry.ready = ready;
    if (entry.favoured) {
      ready ? void(favoured_.emplace(entry.used, member))
            : void(favoured_.erase({entry.used, member}));
      return;
    }
    Share& share = groups_.at(entry.group);
    if (ready) {
      entry.used = std::max(entry.used, share.floor);
      if (share.ready.empty()) {
        share.used = std::max(share.used, floor_);
        order_.emplace(share.used, entry.group);
      }
      share.ready.emplace(entry.used, member);
    } else {
      share.ready.erase({entry.used, member});
      if (share.ready.empty()) order_.erase({share.used, entry.group});
    }
  }

  // The use of `member`'s group; less than any use for a favoured or unknown member.
  std::int64_t used(Member member) const {
    const auto found = members_.find(member);
    if (found == members_.end() || found->second.favoured) return -1;
    return groups_.at(found->second.group).used;
  }

  bool empty() const { return favoured_.empty() && order_.empty(); }
  // The member to be served next; it is not removed.
  std::optional<Member> next() const {
    if (!favoured_.empty()) return favoured_.begin()->second;
    if (order_.empty()) return std::nullopt;
    return groups_.at(order_.begin()->second).ready.begin()->second;
  }
  // Counts that `member` was served for `cost` (any unit, > 0).
  void charge(Member member, std::int64_t cost) {
    const auto found = members_.find(member);
    if (found == members_.end()) return;
    Entry& entry = found->second;
    const bool was_ready = entry.ready;
    Share& share = groups_.at(entry.group);
    if (!entry.favoured) {
      floor_ = std::max(floor_, share.used);
      share.floor = std::max(share.floor, entry.used);
    }
    set_ready(member, false);
    entry.used += cost;
    if (!entry.favoured) add_to_share(entry.group, share, cost);
    set_ready(member, was_ready);
  }

 private:
  using Used = std::int64_t;
  struct Entry {
    Group group = 0;
    Used used = 0;
    bool ready = false;
    bool favoured = false;
  };
  struct Share {
    Used used = 0;
    Used floor = 0;  // the earlier use of the member served last
    std::size_t members = 0;
    std::set<std::pair<Used, Member>> ready;
  };

  void add_to_share(Group group, Share& share, std::int64_t cost) {
    const bool stands = !share.ready.empty();
    if (stands) order_.erase({share.used, group});
    share.used += cost;
    if (stands) order_.emplace(share.used, group);
  }

  std::unordered_map<Member, Entry> members_;
  std::unordered_map<Group, Share> groups_;
  std::set<std::pair<Used, Group>> order_;  // of the groups with a ready member
  std::set<std::pair<Used, Member>> favoured_;
  Used floor_ = 0;  // the earlier use of the group served last
};

}  // namespace holon::transport
