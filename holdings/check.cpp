#include "holdings/check.hpp"

#include <set>
#include <tuple>

namespace holon::holdings {

namespace {

using Found = std::optional<Breach>;

// ---- one book

// An open recall is about what is on its way back.
Found check_recalls(const Member& member) {
  for (const auto& [peer, link] : member.book.links) {
    const Units going =
        all_of(units_in(link, State::asked_back),
               all_of(units_in(link, State::draining), units_in(link, State::returned)));
    for (const Recall& open : link.recalls)
      if (const Units kept = without(open.units, going); !kept.empty())
        return Breach{3, member.path, "units " + kept.str() + " are asked back, and stay"};
  }
  return std::nullopt;
}

Found check_book(const Member& member) {
  const Book& book = member.book;
  const auto breach = [&](int invariant, std::string what) {
    return Breach{invariant, member.path, std::move(what)};
  };
  Units given;
  for (const auto& [peer, link] : book.links) {
    if (peer == kParent) continue;
    for (const Holding& holding : link.holdings) {
      if (const Units twice = common(given, holding.units); !twice.empty())
        return breach(1, "units " + twice.str() + " are given to two holders");
      given = all_of(given, holding.units);
      if (holding.until > until_of(book, holding.units))
        return breach(6,
                      "units " + holding.units.str() + " are given for longer than they are held");
    }
    const Units offered = units_in(link, State::offered);
    if (offered != (link.extending ? link.extending->units : Units{}))
      return breach(3, "units " + offered.str() + " are in flight without an extend");
  }
  const Units mine = units_of(link_to(book, kParent));
  if (!has_all(mine, given)) return breach(1, "units are given that it does not hold");
  if (!has_all(mine, book.busy)) return breach(1, "its jobs have units that it does not hold");
  if (const Units twice = common(book.busy, given); !twice.empty())
    return breach(1, "units " + twice.str() + " are given while a job has them");
  return check_recalls(member);
}

// ---- the two ends of a link

struct Ends {
  const Member& child;
  const Link& down;  // the parent's
  const Link& up;    // the child's

  Breach breach(int invariant, std::string what) const {
    return {invariant, child.path, std::move(what)};
  }
  // Has the child settled an extend of which the parent has no answer yet?
  bool child_ahead() const { return up.epoch == down.epoch + 1 && down.extending; }
  // Has the parent taken a release of which the child has no answer yet?
  bool parent_ahead() const {
    return down.epoch == up.epoch + 1 && up.releasing && up.releasing->from == up.epoch;
  }

  Found epochs() const {
    if (up.epoch == down.epoch || child_ahead() || parent_ahead()) return std::nullopt;
    return breach(2, "the child is at epoch " + std::to_string(up.epoch) + ", its parent at " +
                         std::to_string(down.epoch));
  }

  Found holders() const {
    Units want = without(units_of(down), to_clear(down));
    if (down.extending) {
      const Kept* answer = child_ahead() ? kept_answer(up, down.extending->op) : nullptr;
      const bool took = answer != nullptr && std::holds_alternative<Taken>(answer->answer);
      want = without(want, took ? down.extending->replaces : down.extending->units);
    }
    if (parent_ahead()) want = all_of(want, up.releasing->units);
    const Units has = units_of(up);
    if (const Units more = without(has, want); !more.empty())
      return breach(1, "the child holds units " + more.str() + ", which its parent has not given");
    if (const Units less = without(want, has); !less.empty())
      return breach(1, "units " + less.str() + " are given to the child, which does not hold them");
    return std::nullopt;
  }

  // What the child has returned may be given anew, on other terms, before it hears that it is gone.
  Found terms() const {
    for (const Holding& mine : up.holdings)
      for (const Holding& theirs : down.holdings)
        if (mine.state != State::returned && mine.until > theirs.until &&
            !have_none_in_common(mine.units, theirs.units))
          return breach(6, "the child holds units " + mine.units.str() +
                               " for longer than given: until " + std::to_string(mine.until) +
                               ", not " + std::to_string(theirs.until));
    return std::nullopt;
  }
};

Found check_ends(const std::vector<Member>& tree, const Member& child) {
  // A child that has not begun, or is over, has no link.
  if (!tree[*child.parent].book.links.contains(child.peer)) return std::nullopt;
  const Ends ends{child, link_to(tree[*child.parent].book, child.peer),
                  link_to(child.book, kParent)};
  if (ends.up.epoch < ends.down.fence) return std::nullopt;
  if (Found found = ends.epochs()) return found;
  if (Found found = ends.holders()) return found;
  return ends.terms();
}

// ---- the order of a history

enum class Mark { offered, answered, released, returned, raised, asked_back, leased };
using Marked = std::tuple<Mark, Op>;

// What an entry does that the other side answers, and what it answers.
struct Cause {
  std::optional<Marked> makes, needs;
  Peer other = kParent;  // the child whose link it is about; kParent: the parent's
};

Cause cause_of(const entry::Offered& e) {
  return {Marked{Mark::offered, e.extend.op}, {}, e.child};
}
Cause cause_of(const entry::Took& e) {
  return {Marked{Mark::answered, e.extend.op}, Marked{Mark::offered, e.extend.op}, kParent};
}
Cause cause_of(const entry::Declined& e) {
  return {Marked{Mark::answered, e.extend.op}, Marked{Mark::offered, e.extend.op}, kParent};
}
Cause cause_of(const entry::Settled& e) {
  return {{}, Marked{Mark::answered, e.op}, e.child};
}
Cause cause_of(const entry::Released& e) {
  return {Marked{Mark::released, e.release.op}, {}, kParent};
}
Cause cause_of(const entry::Returned& e) {
  return {Marked{Mark::returned, e.release.op}, Marked{Mark::released, e.release.op}, e.child};
}
Cause cause_of(const entry::Acked& e) {
  return {{}, Marked{Mark::returned, e.op}, kParent};
}
Cause cause_of(const entry::Raised& e) {
  return {Marked{Mark::raised, e.epoch}, {}, e.child};
}
Cause cause_of(const entry::Learned& e) {
  return {{}, Marked{Mark::raised, e.epoch}, kParent};
}
Cause cause_between(Mark mark, Peer peer, Op op) {
  if (peer == kParent) return {{}, Marked{mark, op}, kParent};
  return {Marked{mark, op}, {}, peer};
}
Cause cause_of(const entry::AskedBack& e) {
  return cause_between(Mark::asked_back, e.peer, e.recall.op);
}
Cause cause_of(const entry::Leased& e) {
  return cause_between(Mark::leased, e.peer, e.lease.op);
}
template <class Other>
Cause cause_of(const Other&) {
  return {};
}

class Replay {
 public:
  explicit Replay(const std::vector<Journal>& journals)
      : journals_(journals), next_(journals.size()), done_(journals.size()) {
    for (const Journal& journal : journals)
      tree_.push_back({journal.path, journal.parent, journal.peer, {}});
  }

  std::optional<BreachInHistory> run() {
    while (const auto at = earliest()) {
      const Recorded& recorded = journals_[*at].entries[next_[*at]];
      if (!ready(*at)) return here(*at, {3, tree_[*at].path, answers_nothing(recorded.entry)});
      Result<Book> after = fold(tree_[*at].book, recorded.entry);
      if (!after) return here(*at, {2, tree_[*at].path, after.error().what});
      tree_[*at].book = std::move(*after);
      if (const auto makes = cause(*at).makes) done_[*at].insert({cause(*at).other, *makes});
      if (Found found = check(tree_)) return here(*at, *found);
      ++next_[*at];
    }
    return std::nullopt;
  }

 private:
  static std::string answers_nothing(const Entry& entry) {
    return std::string(name_of(entry)) + ": it answers what the other side has never written";
  }
  BreachInHistory here(std::size_t at, Breach breach) const {
    return {std::move(breach), journals_[at].entries[next_[at]].time, at, next_[at]};
  }
  Cause cause(std::size_t at) const {
    return std::visit([](const auto& e) { return cause_of(e); },
                      journals_[at].entries[next_[at]].entry);
  }
  // Has the other side written what the next entry of this journal answers?
  bool ready(std::size_t at) const {
    const Cause why = cause(at);
    if (!why.needs) return true;
    if (why.other == kParent) {
      const auto parent = journals_[at].parent;
      return parent && done_[*parent].contains({journals_[at].peer, *why.needs});
    }
    for (std::size_t i = 0; i < journals_.size(); ++i)
      if (journals_[i].parent == at && journals_[i].peer == why.other)
        return done_[i].contains({kParent, *why.needs});
    return false;
  }
  // The journal whose next entry comes next: the earliest that is ready, else the earliest.
  std::optional<std::size_t> earliest() const {
    std::optional<std::size_t> best;
    const auto rank = [&](std::size_t at) {
      return std::tuple(!ready(at), journals_[at].entries[next_[at]].time, at);
    };
    for (std::size_t i = 0; i < journals_.size(); ++i)
      if (next_[i] < journals_[i].entries.size() && (!best || rank(i) < rank(*best))) best = i;
    return best;
  }

  const std::vector<Journal>& journals_;
  std::vector<Member> tree_;
  std::vector<std::size_t> next_;
  std::vector<std::set<std::pair<Peer, Marked>>> done_;
};

}  // namespace

std::optional<Breach> check(const std::vector<Member>& tree) {
  for (const Member& member : tree) {
    if (Found found = check_book(member)) return found;
    if (!member.parent) continue;
    if (Found found = check_ends(tree, member)) return found;
  }
  return std::nullopt;
}

std::optional<BreachInHistory> check_history(const std::vector<Journal>& journals) {
  return Replay(journals).run();
}

}  // namespace holon::holdings
