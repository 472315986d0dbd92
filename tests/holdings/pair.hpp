// pair.hpp - a parent and a child that say everything to each other.
#pragma once
#include "holdings/check.hpp"
#include "holdings/grant.hpp"

namespace holon::holdings {

inline constexpr Peer kChild{7};

inline Units units(const char* text) {
  return *Idset::parse(text);
}

// A parent with units 0 to 7, and a child that has nothing yet.
struct Pair {
  Book parent = *commit({}, {{entry::Granted{units("0-7"), kTimeMax}}, {}, {}});
  Book child;

  // Both write and send until nobody says anything more.
  void at_parent(const Turn& turn) {
    parent = *commit(parent, turn);
    for (const Sent& sent : turn.sent)
      if (sent.to == kChild) at_child(receive(child, kParent, sent.message, 0));
  }
  void at_child(const Turn& turn) {
    child = *commit(child, turn);
    for (const Sent& sent : turn.sent)
      if (sent.to == kParent) at_parent(receive(parent, kChild, sent.message, 0));
  }
  void give(const char* text, Time until = kTimeMax) {
    at_parent(*extend(parent, kChild, {.units = units(text), .until = until}));
  }
  // The child asks; what it has sent.
  Ask asks() {
    const Turn turn = ask(child, {.jobspec = "{}"});
    child = *commit(child, turn);
    return std::get<Ask>(turn.sent.front().message);
  }
  std::optional<Breach> breach() const {
    return check({{"/", std::nullopt, kParent, parent}, {"/7", 0, kChild, child}});
  }
  const Link& down() const { return link_to(parent, kChild); }
  const Link& up() const { return link_to(child, kParent); }
};

}  // namespace holon::holdings
