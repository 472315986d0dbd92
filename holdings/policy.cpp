#include "holdings/policy.hpp"

#include <algorithm>

namespace holon::holdings {

namespace {

bool lies_below(const Tree& tree, std::size_t at, std::size_t above) {
  while (at != above && tree.parties[at].parent) at = *tree.parties[at].parent;
  return at == above;
}

std::size_t depth_of(const Tree& tree, std::size_t at) {
  std::size_t depth = 0;
  for (; tree.parties[at].parent; at = *tree.parties[at].parent) ++depth;
  return depth;
}

std::size_t common_ancestor(const Tree& tree, std::size_t a, std::size_t b) {
  while (!lies_below(tree, b, a)) a = *tree.parties[a].parent;
  return a;
}

// A subtree that is compared with others: all of it, or its uppermost instance alone.
struct Part {
  std::size_t top;
  bool alone = false;
};

// The part of `ancestor`'s subtree in which the party is.
Part part_with(const Tree& tree, std::size_t party, std::size_t ancestor) {
  if (party == ancestor) return {party, true};
  while (*tree.parties[party].parent != ancestor) party = *tree.parties[party].parent;
  return {party};
}

// The share of a part that holds `more` of a kind than it does.
double share_of(const Tree& tree, Part part, std::size_t kind, std::int64_t more) {
  Amounts above(tree.total.size(), 0);
  above[kind] = more;
  for (std::size_t i = part.top; i < tree.parties.size(); ++i) {
    if (part.alone ? i != part.top : !lies_below(tree, i, part.top)) continue;
    for (std::size_t k = 0; k < above.size(); ++k)
      above[k] += tree.parties[i].held[k] - tree.parties[i].owned[k];
  }
  double most = -1;
  for (std::size_t k = 0; k < above.size(); ++k)
    if (tree.total[k] > 0)
      most = std::max(most, static_cast<double>(above[k]) / static_cast<double>(tree.total[k]));
  return most / tree.parties[part.top].weight;
}

bool any_below(const Tree& tree, std::size_t top, const std::vector<bool>& wants) {
  for (std::size_t i = top; i < tree.parties.size(); ++i)
    if (wants[i] && lies_below(tree, i, top)) return true;
  return false;
}

bool is_better_off(double taker, double giver, double margin) {
  if (taker <= 0) return giver >= 0;  // it takes back what it owns, from who has extra
  return taker * margin < giver;
}

// Extra that may be recalled: it does not rest.
std::int64_t recallable(const Party& party, std::size_t kind) {
  return std::max<std::int64_t>(party.held[kind] - party.owned[kind] - party.resting[kind], 0);
}

std::int64_t lacking(const Party& party, std::size_t kind) {
  return std::max<std::int64_t>(party.wanted[kind] - party.held[kind], 0);
}

class NextMove {
 public:
  NextMove(const Tree& tree, const PolicyTerms& terms, Time now)
      : tree_(tree), terms_(terms), now_(now) {}

  std::optional<UnitMove> of_kind(std::size_t kind) const {
    std::vector<bool> wants(tree_.parties.size());
    for (std::size_t i = 0; i < wants.size(); ++i)
      wants[i] = lacking(tree_.parties[i], kind) > 0 && may_have_more(tree_.parties[i], kind);
    while (const auto taker = next_taker(tree_, wants)) {
      if (auto move = idle_for(*taker, kind)) return move;
      if (auto move = recalled_for(*taker, kind)) return move;
      wants[*taker] = false;
    }
    return std::nullopt;
  }

 private:
  // What it owns it always gets back.
  bool may_have_more(const Party& party, std::size_t kind) const {
    return party.held[kind] < party.owned[kind] || party.extra_from <= now_;
  }
  std::int64_t wanted_from(std::size_t taker, std::size_t giver, std::size_t kind) const {
    const Party& party = tree_.parties[taker];
    std::int64_t most = std::min(lacking(party, kind), room_for(tree_, taker, giver, kind));
    if (party.extra_from > now_) most = std::min(most, party.owned[kind] - party.held[kind]);
    return most;
  }

  std::optional<UnitMove> idle_for(std::size_t taker, std::size_t kind) const {
    for (const std::size_t giver : givers_for(tree_, taker)) {
      const std::int64_t amount =
          std::min(idle_of(tree_.parties[giver], kind), wanted_from(taker, giver, kind));
      if (amount > 0) return UnitMove{giver, taker, kind, amount, true};
    }
    return std::nullopt;
  }

  // One unit, of who has the largest share.
  std::optional<UnitMove> recalled_for(std::size_t taker, std::size_t kind) const {
    std::optional<std::size_t> best;
    double largest = 0;
    for (const std::size_t giver : givers_for(tree_, taker)) {
      if (recallable(tree_.parties[giver], kind) == 0 || wanted_from(taker, giver, kind) < 1 ||
          !improves(tree_, taker, giver, kind, 1, terms_.margin))
        continue;
      const double share = share_of(tree_, {giver, true}, kind, 0);
      if (best && share <= largest) continue;
      best = giver;
      largest = share;
    }
    if (!best) return std::nullopt;
    return UnitMove{*best, taker, kind, 1, false};
  }

  const Tree& tree_;
  const PolicyTerms& terms_;
  Time now_;
};

}  // namespace

double share_above_owned(const Tree& tree, std::size_t root_of_subtree) {
  return share_of(tree, {root_of_subtree}, 0, 0);
}

std::optional<std::size_t> next_taker(const Tree& tree, const std::vector<bool>& wants) {
  if (tree.parties.empty() || !any_below(tree, 0, wants)) return std::nullopt;
  std::size_t at = 0;
  while (!wants[at]) {
    std::optional<std::size_t> best;
    for (std::size_t i = at + 1; i < tree.parties.size(); ++i) {
      if (tree.parties[i].parent != at || !any_below(tree, i, wants)) continue;
      const auto key = [&](std::size_t p) {
        return std::pair(share_above_owned(tree, p), tree.parties[p].path);
      };
      if (!best || key(i) < key(*best)) best = i;
    }
    at = *best;
  }
  return at;
}

std::vector<std::size_t> givers_for(const Tree& tree, std::size_t taker) {
  std::vector<std::size_t> givers;
  for (std::size_t i = 0; i < tree.parties.size(); ++i)
    if (i != taker) givers.push_back(i);
  const auto key = [&](std::size_t giver) {
    const std::size_t meet = common_ancestor(tree, taker, giver);
    return std::tuple(depth_of(tree, taker) - depth_of(tree, meet),
                      depth_of(tree, giver) - depth_of(tree, meet), tree.parties[giver].path);
  };
  std::sort(givers.begin(), givers.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return givers;
}

std::int64_t room_for(const Tree& tree, std::size_t taker, std::size_t giver, std::size_t kind) {
  const std::size_t meet = common_ancestor(tree, taker, giver);
  std::int64_t room = INT64_MAX;
  for (std::size_t at = taker;; at = *tree.parties[at].parent) {
    if (at == meet && at != taker) return room;  // what it and all below it have stays the same
    std::int64_t held = 0;
    for (std::size_t i = at; i < tree.parties.size(); ++i)
      if (lies_below(tree, i, at)) held += tree.parties[i].held[kind];
    if (at != meet) room = std::min(room, tree.parties[at].ceiling[kind] - held);
    if (at == meet) return room;
  }
}

std::int64_t idle_of(const Party& party, std::size_t kind) {
  return std::max<std::int64_t>(party.held[kind] - std::max(party.wanted[kind], party.floor[kind]),
                                0);
}

bool improves(const Tree& tree, std::size_t taker, std::size_t giver, std::size_t kind,
              std::int64_t amount, double margin) {
  const std::size_t meet = common_ancestor(tree, taker, giver);
  const double after_taking = share_of(tree, part_with(tree, taker, meet), kind, amount);
  const double after_giving = share_of(tree, part_with(tree, giver, meet), kind, -amount);
  return is_better_off(after_taking, after_giving, margin);
}

std::optional<UnitMove> next_move(const Tree& tree, const PolicyTerms& terms, Time now) {
  const NextMove next(tree, terms, now);
  for (std::size_t kind = 0; kind < tree.total.size(); ++kind)
    if (auto move = next.of_kind(kind)) return move;
  return std::nullopt;
}

Tree moved(Tree tree, const UnitMove& move) {
  Party& giver = tree.parties[move.giver];
  Party& taker = tree.parties[move.taker];
  giver.held[move.kind] -= move.amount;
  taker.held[move.kind] += move.amount;
  if (!move.idle) taker.resting[move.kind] += move.amount;
  return tree;
}

std::optional<Terms> nested(const Terms& own, Duration margin, Time now) {
  const Terms inner{own.until == kTimeMax ? kTimeMax : own.until - margin,
                    own.notice == 0 ? 0 : std::max<Duration>(own.notice - margin, 0)};
  if (inner.until <= now) return std::nullopt;
  return inner;
}

Duration backoff_after(std::uint32_t recalls, const PolicyTerms& terms) {
  if (recalls == 0) return 0;
  Duration wait = terms.backoff;
  for (std::uint32_t i = 1; i < recalls && wait < terms.longest_backoff; ++i) wait *= 2;
  return std::min(wait, terms.longest_backoff);
}

bool idle_for_too_long(Time idle_since, Time now, const PolicyTerms& terms) {
  return distance(idle_since, now) >= terms.idle_grace;
}

}  // namespace holon::holdings
