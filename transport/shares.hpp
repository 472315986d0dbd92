// shares.hpp - whose the connections of a server for everybody are, and how many one user may have.
// Private to transport/.
//
// Max-min fairness: while there is room a user may have more than an equal share, up to a bound.
// Where there is none, whoever has fewer takes a place from who has most. So however many users
// together have taken all places, the next one finds one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace holon::transport {

class Shares {
 public:
  // `places`: connections that the server has at most; 0: no bound is known.
  void places(std::size_t places) { places_ = places; }

  void add(std::uint32_t user) { ++of_user_[user]; }
  void remove(std::uint32_t user) {
    if (--of_user_[user] == 0) of_user_.erase(user);
  }
  // nullopt: somebody whose connections are not counted, as root's.
  std::size_t of(std::optional<std::uint32_t> user) const {
    const auto found = user ? of_user_.find(*user) : of_user_.end();
    return found == of_user_.end() ? 0 : found->second;
  }
  // That one user may have, however much room there is.
  std::size_t most_of_one() const {
    if (places_ == 0) return kMost;
    return std::min(kMost, std::max<std::size_t>(places_ / kShare, 1));
  }
  // Who has most, and will still have no fewer than `user` when one of those has become that
  // user's; nullopt: nobody. O(users).
  std::optional<std::uint32_t> gives_to(std::optional<std::uint32_t> user) const {
    const auto most =
        std::max_element(of_user_.begin(), of_user_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == of_user_.end() || most->second < of(user) + 2) return std::nullopt;
    return most->first;
  }

 private:
  static constexpr std::size_t kMost = 1'000, kShare = 4;  // so many, and one of so many

  std::size_t places_ = 0;
  std::map<std::uint32_t, std::size_t> of_user_;
};

}  // namespace holon::transport
