// shares.hpp - whose the connections of a server for everybody are, and how many one user may have.
// Private to transport/.
//
// Max-min fairness: while there is room a user may have more than an equal share, up to a bound.
// Where there is none, whoever has fewer takes a place from who has most. So however many users
// together have taken all places, the next one finds one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace holon::transport {

// Whose they are is a text: a user's number, or the address of somebody who has shown over tcp no
// more than a key yet; "": nobody's that is counted, as root's.
class Shares {
 public:
  // `places`: connections that the server has at most; 0: no bound is known.
  void places(std::size_t places) { places_ = places; }

  void add(const std::string& holder) {
    if (!holder.empty()) ++of_[holder];
  }
  void remove(const std::string& holder) {
    const auto found = of_.find(holder);
    if (found != of_.end() && --found->second == 0) of_.erase(found);
  }
  std::size_t of(const std::string& holder) const {
    const auto found = of_.find(holder);
    return found == of_.end() ? 0 : found->second;
  }
  // That one user may have, however much room there is.
  std::size_t most_of_one() const {
    if (places_ == 0) return kMost;
    return std::min(kMost, std::max<std::size_t>(places_ / kShare, 1));
  }
  // Who has most, and will still have no fewer than `holder` when one of those has become that
  // one's; "": nobody. O(holders).
  std::string gives_to(const std::string& holder) const {
    const auto most = std::max_element(
        of_.begin(), of_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == of_.end() || most->second < of(holder) + 2) return {};
    return most->first;
  }

 private:
  static constexpr std::size_t kMost = 1'000, kShare = 4;  // so many, and one of so many

  std::size_t places_ = 0;
  std::map<std::string, std::size_t> of_;
};

}  // namespace holon::transport
