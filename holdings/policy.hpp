// policy.hpp - who gets units, and who gives them: pure functions of what a tree holds and wants.
//
// Everybody has what they own. Above that, the instance with the smallest weighted dominant share
// gets first, decided from the root to the leaf: at each level the shares of whole subtrees are
// compared, so that a team does not gain by splitting itself. Idle units are given first, those of
// siblings before those further up. Units that are used move only if they are extra, if they do not
// rest, and if the taker is better off by a margin even afterwards: then no move is ever undone by
// the next one. With constant demands each unit moves at most once a level, and all is at rest.
//
// Amounts are counted by kind (cores, GPUs, GiB); all Amounts of a tree have the same length.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace holon::holdings {

using Amounts = std::vector<std::int64_t>;

// An instance as the policy sees it: without what its children have.
struct Party {
  std::string path{};                   // ties are settled by it
  std::optional<std::size_t> parent{};  // its place in the tree, before its own; nullopt: the root
  Amounts owned{};
  Amounts floor{};    // kept though idle
  Amounts ceiling{};  // of it and all below it together
  Amounts held{};
  Amounts wanted{};   // what it could use now, with what it uses
  Amounts resting{};  // of what it holds, extra that came less than `hold` ago
  double weight = 1;
  Time extra_from = 0;  // no extra before: its back-off
};

struct Tree {
  std::vector<Party> parties{};  // the parent stands before its children
  Amounts total{};
};

struct PolicyTerms {
  double margin = 1.1;  // by which a taker must be better off
  // ms, as all times of holdings/.
  Duration hold = 60'000;  // a unit that moved rests for so long
  Duration idle_grace = 30'000;
  Duration backoff = 60'000, longest_backoff = 3'600'000;
};

// ---- shares

// The largest, over the kinds, of what the subtree holds above what it owns, as a part of all there
// is, by its weight. Below 0: it has lent.
double share_above_owned(const Tree& tree, std::size_t root_of_subtree);

// ---- who

// The party that gets the next unit of a kind, of those for which `wants` is true: from the root
// down, into the subtree with the smallest share; an instance comes before its children; equal
// shares by path. nullopt: none wants.
std::optional<std::size_t> next_taker(const Tree& tree, const std::vector<bool>& wants);

// Those that can be asked to give to the taker, nearest first: siblings and what is below them,
// then a level up; equally near ones by path.
std::vector<std::size_t> givers_for(const Tree& tree, std::size_t taker);

// How much more the party, and all above it up to the lowest common ancestor with the giver, may
// hold.
std::int64_t room_for(const Tree& tree, std::size_t taker, std::size_t giver, std::size_t kind);

// What the party holds and could not use, above its floor.
std::int64_t idle_of(const Party& party, std::size_t kind);

// Is the taker, with `amount` more, still better off than the giver with so much less? Their shares
// are those of the subtrees below their lowest common ancestor.
bool improves(const Tree& tree, std::size_t taker, std::size_t giver, std::size_t kind,
              std::int64_t amount, double margin);

struct UnitMove {
  std::size_t giver = 0, taker = 0, kind = 0;
  std::int64_t amount = 0;
  bool idle = false;  // of what the giver has no use for: no recall that hurts
  bool operator==(const UnitMove&) const = default;
};

// The next move that is due at `now`; nullopt: all is at rest.
std::optional<UnitMove> next_move(const Tree& tree, const PolicyTerms& terms, Time now);
// The tree after it. What moved rests, unless it was idle.
Tree moved(Tree tree, const UnitMove& move);

// ---- terms

// What may be promised of units that are held until `until` with `notice`: each level keeps a
// margin to hand things on in time. nullopt: nothing that lasts past `now`.
struct Terms {
  Time until = kTimeMax;
  Duration notice = 0;
  bool operator==(const Terms&) const = default;
};
std::optional<Terms> nested(const Terms& own, Duration margin, Time now);

// How long a party whose extra was recalled for the n-th time in a row gets none of that kind.
Duration backoff_after(std::uint32_t recalls, const PolicyTerms& terms);

// Does extra that has been idle since then go back?
bool idle_for_too_long(Time idle_since, Time now, const PolicyTerms& terms);

}  // namespace holon::holdings
