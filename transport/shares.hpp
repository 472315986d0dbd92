// shares.hpp - whose the connections of a server for everybody are, and how many one user may have.
// Private to transport/.
//
// Max-min fairness: while there is room a user may have more than an equal share, up to a bound.
// Where there is none, whoever has fewer takes a place from who has most. So however many users
// together have taken all places, the next one finds one. Who has shown over tcp no more than a key
// yet is a stranger. All strangers together are as one user then, and their addresses share what
// that one has: a client can come from any number of addresses.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <string>

namespace holon::transport {

// The user or stranger for whom a connection counts.
struct Holder {
  bool is_stranger = false;
  // A user's number, or a stranger's address. "": the connection counts for nobody, as root's.
  std::string name;

  bool counts() const { return !name.empty(); }
  friend auto operator<=>(const Holder&, const Holder&) = default;
};

class Shares {
 public:
  // `places`: connections that the server has at most; 0: no bound is known.
  void places(std::size_t places) { places_ = places; }

  void add(const Holder& holder) {
    if (!holder.counts()) return;
    ++of_[holder];
    if (holder.is_stranger) ++strangers_;
  }
  void remove(const Holder& holder) {
    const auto found = of_.find(holder);
    if (found == of_.end()) return;
    if (--found->second == 0) of_.erase(found);
    if (holder.is_stranger) --strangers_;
  }
  std::size_t of(const Holder& holder) const {
    const auto found = of_.find(holder);
    return found == of_.end() ? 0 : found->second;
  }
  // Connections that one user may have, or one address of strangers, however much room there is.
  std::size_t most_of_one() const {
    if (places_ == 0) return kMost;
    return std::min(kMost, std::max<std::size_t>(places_ / kShare, 1));
  }
  // The holder from which a newcomer of `holder` takes a place: the one with most, if it will still
  // have no fewer than `holder` then. A holder that does not count: none. O(holders).
  Holder gives_to(const Holder& holder) const {
    const Most user = most_of(false), address = most_of(true);
    if (holder.is_stranger) {
      if (address.connections >= of(holder) + 2) return address.who;
      return user.connections >= strangers_ + 2 ? user.who : Holder();
    }
    const bool are_strangers = strangers_ >= user.connections;
    if ((are_strangers ? strangers_ : user.connections) < of(holder) + 2) return {};
    return are_strangers ? address.who : user.who;
  }

 private:
  static constexpr std::size_t kMost = 1'000, kShare = 4;  // so many, and one of so many

  struct Most {
    Holder who;
    std::size_t connections = 0;
  };
  Most most_of(bool strangers) const {
    Most most;
    for (const auto& [who, connections] : of_)
      if (who.is_stranger == strangers && connections > most.connections) most = {who, connections};
    return most;
  }

  std::size_t places_ = 0;
  std::size_t strangers_ = 0;  // connections of all of them
  std::map<Holder, std::size_t> of_;
};

}  // namespace holon::transport
