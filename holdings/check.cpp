#include "holdings/check.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace holon::holdings {

namespace {

using Found = std::optional<Breach>;

// May what was given with the fence time `its` be used for longer without a word than what it is
// part of may be, which has `outer`?
bool outlasts(Duration its, Duration outer) {
  return outer > 0 && (its == 0 || its > outer);
}

std::string fence_in_words(Duration fence) {
  return fence == 0 ? "never" : "after " + std::to_string(fence) + " ms";
}

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

// What one child has lent, and another has, is back in time.
Found check_loans(const Member& member, Peer holder, const Holding& holding) {
  for (const auto& [lender, link] : member.book.links)
    for (const Due& loan : link.loans)
      if (lender != kParent && lender != holder && holding.until > loan.at)
        if (const Units late = common(loan.units, holding.units); !late.empty())
          return Breach{7, member.path,
                        "units " + late.str() + " of child " + std::to_string(lender.value()) +
                            " are given on for longer than they are lent"};
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
      if (Found late = check_loans(member, peer, holding)) return late;
      if (holding.until > until_of(book, holding.units))
        return breach(6,
                      "units " + holding.units.str() + " are given for longer than they are held");
      // A child's own is part of a job, which ends with all that it runs.
      const Duration outer = fence_of(book, holding.units);
      if (holding.source != Source::owned && outlasts(holding.fence, outer))
        return breach(6, "units " + holding.units.str() + " may be fenced " +
                             fence_in_words(holding.fence) + ", and are themselves fenced " +
                             fence_in_words(outer));
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

  // Is the answer that the parent still lacks that it has taken the extend?
  bool took() const {
    const Kept* answer = child_ahead() ? kept_answer(up, down.extending->op) : nullptr;
    return answer != nullptr && std::holds_alternative<Taken>(answer->answer);
  }

  Found epochs() const {
    if (up.epoch == down.epoch || child_ahead() || parent_ahead()) return std::nullopt;
    return breach(2, "the child is at epoch " + std::to_string(up.epoch) + ", its parent at " +
                         std::to_string(down.epoch));
  }

  Found holders() const {
    Units want = without(units_of(down), to_clear(down));
    if (down.extending) {
      want = without(want, took() ? down.extending->replaces : down.extending->units);
    }
    if (parent_ahead()) want = all_of(want, up.releasing->units);
    const Units has = units_of(up);
    if (const Units more = without(has, want); !more.empty())
      return breach(1, "the child holds units " + more.str() + ", which its parent has not given");
    if (const Units less = without(want, has); !less.empty())
      return breach(1, "units " + less.str() + " are given to the child, which does not hold them");
    return std::nullopt;
  }

  // What the child has lent is known to both as that.
  Found loans() const {
    Units want = lent_on(down);
    if (child_ahead() && took()) want = without(want, down.extending->units);
    if (parent_ahead() && up.releasing->back_at != kTimeMax)
      want = without(want, up.releasing->units);
    if (lent_on(up) == want) return std::nullopt;
    return breach(1, "the child has lent units " + lent_on(up).str() + ", and its parent has " +
                         want.str() + " as lent");
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

  // How long the child may go without a word is a length, which needs no common clock.
  Found fences() const {
    for (const Holding& mine : up.holdings)
      for (const Holding& theirs : down.holdings)
        if (mine.state != State::returned && outlasts(mine.fence, theirs.fence) &&
            !have_none_in_common(mine.units, theirs.units))
          return breach(6, "the child takes units " + mine.units.str() + " to be fenced " +
                               fence_in_words(mine.fence) + ", and its parent fences them " +
                               fence_in_words(theirs.fence));
    return std::nullopt;
  }
};

enum class LinkTerms : std::uint8_t { by_one_clock, not_looked_at };

Found check_ends(const std::vector<Member>& tree, const Member& child, LinkTerms terms) {
  // A child that has not begun, or is over, has no link.
  if (!tree[*child.parent].book.links.contains(child.peer)) return std::nullopt;
  const Ends ends{child, link_to(tree[*child.parent].book, child.peer),
                  link_to(child.book, kParent)};
  if (ends.up.epoch < ends.down.fence) return std::nullopt;
  if (Found found = ends.epochs()) return found;
  if (Found found = ends.holders()) return found;
  if (Found found = ends.fences()) return found;
  if (Found found = ends.loans()) return found;
  return terms == LinkTerms::by_one_clock ? ends.terms() : std::nullopt;
}

// ---- the order of a history

enum class Mark {
  granted,
  offered,
  answered,
  released,
  returned,
  raised,
  asked_back,
  leased,
  reclaimed
};
using Marked = std::tuple<Mark, Op>;

// What an entry does that the other side answers, and what it answers.
struct Cause {
  std::optional<Marked> makes, needs;
  Peer other = kParent;   // the child whose link it is about; kParent: the parent's
  bool may_lack = false;  // what it needs comes before, if it comes at all
};

Cause cause_of(const entry::Granted&) {
  return {Marked{Mark::granted, 0}, {}, kParent};
}
Cause cause_of(const entry::Began& e) {
  return {{}, Marked{Mark::granted, 0}, e.child, true};
}

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
Cause cause_of(const entry::Reclaimed& e) {
  if (e.peer == kParent) return {Marked{Mark::reclaimed, e.reclaim.op}, {}, kParent};
  return {{}, Marked{Mark::reclaimed, e.reclaim.op}, e.peer};
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

Cause cause_in(const Recorded& recorded) {
  return std::visit([](const auto& e) { return cause_of(e); }, recorded.entry);
}

// ---- what one entry says beside what it makes of the book

// The invariant that an entry would break which cannot follow in its book.
struct BrokenBy {
  const Book& book;

  int delta(Peer peer, Epoch from, int otherwise) const {
    return from == link_to(book, peer).epoch ? otherwise : 2;
  }
  int operator()(const entry::Granted&) const { return 1; }
  int operator()(const entry::Placed&) const { return 1; }
  int operator()(const entry::Began&) const { return 1; }
  int operator()(const entry::Offered& e) const { return delta(e.child, e.extend.from, 1); }
  int operator()(const entry::Took& e) const { return delta(kParent, e.extend.from, 1); }
  int operator()(const entry::Declined&) const { return 2; }
  int operator()(const entry::Released& e) const { return delta(kParent, e.release.from, 3); }
  int operator()(const entry::Returned& e) const { return delta(e.child, e.release.from, 3); }
  int operator()(const entry::Gone&) const { return 4; }
  int operator()(const entry::Raised&) const { return 8; }
  int operator()(const entry::Learned&) const { return 8; }
  template <class Other>
  int operator()(const Other&) const {
    return 3;
  }
};

// What is a child's own is not asked back.
Found check_own(const Member& member, const Entry& entry) {
  const auto* asked = std::get_if<entry::AskedBack>(&entry);
  if (asked == nullptr || asked->peer == kParent) return std::nullopt;
  for (const Holding& holding : link_to(member.book, asked->peer).holdings)
    if (holding.source == Source::owned)
      if (const Units own = common(holding.units, asked->recall.units); !own.empty())
        return Breach{5, member.path,
                      "units " + own.str() + " are the own of child " +
                          std::to_string(asked->peer.value()) + ", and are asked back"};
  return std::nullopt;
}

std::string seconds_in_words(Duration ms) {
  return ms == kTimeMax ? "ever" : std::to_string(ms / 1000) + " s";
}

// Nothing is started on what children have lent that ends after they have it back. A unit of which
// a process of the child is still to leave is not there yet.
Found check_use_of_loans(const Member& member, const Use& use) {
  for (const auto& [peer, link] : member.book.links)
    for (const Due& loan : link.loans) {
      if (peer == kParent || peer == use.job || use.end <= loan.at) continue;
      const Units late = common(without(loan.units, units_of(link)), use.units);
      if (late.empty()) continue;
      return Breach{7, member.path,
                    "job " + std::to_string(use.job.value()) + " began on units " + late.str() +
                        ", which child " + std::to_string(peer.value()) + " has back in " +
                        seconds_in_words(loan.at - use.begin) + ", for " +
                        seconds_in_words(use.end == kTimeMax ? kTimeMax : use.end - use.begin)};
    }
  return std::nullopt;
}

// Nothing is started on what goes back that ends after it.
Found check_use(const Member& member, const Use& use) {
  if (Found late = check_use_of_loans(member, use)) return late;
  for (const Holding& holding : link_to(member.book, kParent).holdings) {
    if (holding.source == Source::owned || use.end <= holding.until) continue;
    const Units late = common(holding.units, use.units);
    if (late.empty()) continue;
    return Breach{7, member.path,
                  "job " + std::to_string(use.job.value()) + " began on units " + late.str() +
                      ", which go back in " + seconds_in_words(holding.until - use.begin) +
                      ", for " +
                      seconds_in_words(use.end == kTimeMax ? kTimeMax : use.end - use.begin)};
  }
  return std::nullopt;
}

// ---- a whole history

class Replay {
 public:
  explicit Replay(const std::vector<Journal>& journals)
      : journals_(journals),
        next_(journals.size()),
        next_use_(journals.size()),
        is_cut_(journals.size()),
        done_(journals.size()),
        later_(journals.size()),
        offered_(journals.size()),
        lent_(journals.size()) {
    for (std::size_t i = 0; i < journals.size(); ++i) {
      const Journal& journal = journals[i];
      tree_.push_back({journal.path, journal.parent, journal.peer, {}});
      if (journal.parent) below_[{*journal.parent, journal.peer}] = i;
      for (const Recorded& recorded : journal.later) {
        const Cause cause = cause_in(recorded);
        if (cause.makes) later_[i].insert({cause.other, *cause.makes});
      }
    }
  }

  ProvenHistory run() {
    ProvenHistory proven;
    while (const auto at = earliest()) {
      if (!ready(*at) && comes_later(*at)) {
        is_cut_[*at] = true;
        continue;
      }
      Found found = step(*at);
      if (!found) found = uses_before_next(*at);
      if (found) {
        proven.breach = here(*at, std::move(*found));
        break;
      }
      ++next_[*at];
    }
    proven.looked_at = next_;
    return proven;
  }

 private:
  Found step(std::size_t at) {
    const Recorded& recorded = next(at);
    Member& member = tree_[at];
    if (!ready(at)) return Breach{3, member.path, answers_nothing(recorded.entry)};
    if (recorded.begins_anew) member.book = {};
    if (Found found = check_own(member, recorded.entry)) return found;
    Result<Book> after = fold(member.book, recorded.entry);
    if (!after)
      return Breach{std::visit(BrokenBy{member.book}, recorded.entry), member.path,
                    after.error().what};
    member.book = std::move(*after);
    const Cause cause = cause_in(recorded);
    if (cause.makes) done_[at].insert({cause.other, *cause.makes});
    if (Found found = check_term(at, recorded)) return found;
    return check_around(at);
  }
  // The books that may have come to differ from that of this instance.
  Found check_around(std::size_t at) const {
    if (Found found = check_book(tree_[at])) return found;
    if (tree_[at].parent)
      if (Found found = check_ends(tree_, tree_[at], LinkTerms::not_looked_at)) return found;
    const auto first = below_.lower_bound({at, kParent});
    for (auto child = first; child != below_.end() && child->first.first == at; ++child)
      if (Found found = check_ends(tree_, tree_[child->second], LinkTerms::not_looked_at))
        return found;
    return std::nullopt;
  }
  // Jobs that began with the entry, or before the next one. What came in the same moment came
  // first.
  Found uses_before_next(std::size_t at) {
    const Journal& journal = journals_[at];
    const std::size_t following = next_[at] + 1;
    const bool is_last = following == journal.entries.size();
    for (std::size_t& i = next_use_[at]; i < journal.uses.size(); ++i) {
      const Use& use = journal.uses[i];
      if (!is_last && use.begin >= journal.entries[following].time) break;
      if (Found found = check_use(tree_[at], use)) return found;
    }
    return std::nullopt;
  }
  // Likewise of what a child lends: the instance above counts from when it hears of it.
  Found check_loan(std::size_t at, const Recorded& recorded) {
    const auto left = [&](const Release& release) { return release.back_at - recorded.time; };
    if (const auto* e = std::get_if<entry::Released>(&recorded.entry))
      if (e->release.back_at != kTimeMax) lent_[at][e->release.op] = left(e->release);
    const auto* returned = std::get_if<entry::Returned>(&recorded.entry);
    if (returned == nullptr) return std::nullopt;
    const auto child = below_.find({at, returned->child});
    if (child == below_.end()) return std::nullopt;
    const auto known = lent_[child->second].find(returned->release.op);
    if (known == lent_[child->second].end() || left(returned->release) <= known->second)
      return std::nullopt;
    return Breach{7, tree_[at].path,
                  "units " + returned->release.units.str() + " are to go back to child " +
                      std::to_string(returned->child.value()) + " in " +
                      seconds_in_words(left(returned->release)) + ", and were lent for " +
                      seconds_in_words(known->second)};
  }
  // A child counts the time that is left from when it hears of it, and hears no later of more.
  Found check_term(std::size_t at, const Recorded& recorded) {
    if (Found late = check_loan(at, recorded)) return late;
    const auto left = [&](const Extend& extend) {
      return extend.until == kTimeMax ? kTimeMax : extend.until - recorded.time;
    };
    if (const auto* e = std::get_if<entry::Offered>(&recorded.entry))
      offered_[at][{e->child, e->extend.op}] = left(e->extend);
    const auto* took = std::get_if<entry::Took>(&recorded.entry);
    if (took == nullptr || !journals_[at].parent) return std::nullopt;
    const auto& offered = offered_[*journals_[at].parent];
    const auto known = offered.find({journals_[at].peer, took->extend.op});
    if (known == offered.end() || left(took->extend) <= known->second) return std::nullopt;
    return Breach{6, tree_[at].path,
                  "units " + took->extend.units.str() + " are taken for " +
                      seconds_in_words(left(took->extend)) + ", and were offered for " +
                      seconds_in_words(known->second)};
  }

  static std::string answers_nothing(const Entry& entry) {
    return std::string(name_of(entry)) + ": it answers what the other side has never written";
  }
  const Recorded& next(std::size_t at) const { return journals_[at].entries[next_[at]]; }
  bool has_next(std::size_t at) const {
    return !is_cut_[at] && next_[at] < journals_[at].entries.size();
  }
  BreachInHistory here(std::size_t at, Breach breach) const {
    return {std::move(breach), next(at).time, at, next_[at]};
  }
  // The journal of the other side of the link; nullopt: it is not there.
  std::optional<std::size_t> other_side(std::size_t at, Peer other) const {
    if (other == kParent) return journals_[at].parent;
    const auto child = below_.find({at, other});
    return child == below_.end() ? std::nullopt : std::optional(child->second);
  }
  // What the other side has to have written before the next entry of this journal.
  using Written = std::set<std::pair<Peer, Marked>>;
  bool is_in(const std::vector<Written>& written, std::size_t at, const Cause& why) const {
    const auto other = other_side(at, why.other);
    const Peer peer = why.other == kParent ? journals_[at].peer : kParent;
    return other && written[*other].contains({peer, *why.needs});
  }
  // Has the other side written what the next entry of this journal answers?
  bool ready(std::size_t at) const {
    const Cause why = cause_in(next(at));
    if (!why.needs || is_in(done_, at, why)) return true;
    const auto other = other_side(at, why.other);
    if (!other) return why.other != kParent || journals_[at].peer != kParent;
    return why.may_lack && !has_next(*other);
  }
  // Does what the next entry of this journal answers stand further on in the other journal?
  bool waits_for_written(std::size_t at) const {
    const Cause why = cause_in(next(at));
    const auto other = other_side(at, why.other);
    if (!why.needs || !other) return false;
    const Peer peer = why.other == kParent ? journals_[at].peer : kParent;
    const auto& entries = journals_[*other].entries;
    return std::any_of(entries.begin() + std::ptrdiff_t(next_[*other]), entries.end(),
                       [&](const Recorded& recorded) {
                         const Cause cause = cause_in(recorded);
                         return cause.makes == why.needs && cause.other == peer;
                       });
  }
  // Was it written after the other journal was read, or behind what is looked at of that one?
  bool comes_later(std::size_t at) const {
    const Cause why = cause_in(next(at));
    const auto other = other_side(at, why.other);
    return why.needs &&
           (is_in(later_, at, why) || (other && is_cut_[*other] && waits_for_written(at)));
  }
  // The journal whose next entry comes next: the earliest that is ready. Where none is, one of them
  // answers nothing, and others may wait for what follows that one; which of these has the earlier
  // time says nothing, for each broker rounds its clock by itself.
  std::optional<std::size_t> earliest() const {
    if (const auto at = earliest_of([&](std::size_t i) { return ready(i); })) return at;
    if (const auto at = earliest_of([&](std::size_t i) { return !waits_for_written(i); }))
      return at;
    return earliest_of([](std::size_t) { return true; });
  }
  template <class Which>
  std::optional<std::size_t> earliest_of(Which which) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < journals_.size(); ++i)
      if (has_next(i) && (!best || next(i).time < next(*best).time) && which(i)) best = i;
    return best;
  }

  const std::vector<Journal>& journals_;
  std::vector<Member> tree_;
  std::map<std::pair<std::size_t, Peer>, std::size_t> below_;  // by parent, and what it calls it
  std::vector<std::size_t> next_, next_use_;
  std::vector<bool> is_cut_;
  std::vector<Written> done_, later_;
  std::vector<std::map<std::pair<Peer, Op>, Duration>> offered_;  // for how long, by parent
  std::vector<std::map<Op, Duration>> lent_;                      // for how long, by child
};

}  // namespace

std::optional<Breach> check(const std::vector<Member>& tree) {
  for (const Member& member : tree) {
    if (Found found = check_book(member)) return found;
    if (!member.parent) continue;
    if (Found found = check_ends(tree, member, LinkTerms::by_one_clock)) return found;
  }
  return std::nullopt;
}

const char* title_of(int invariant) {
  static constexpr const char* kTitles[] = {
      "",           "one holder",          "deltas",
      "two phases", "actual departure",    "owned is safe",
      "terms nest", "a return is planned", "fence before reuse",
      "no cycle",   "demand is a state"};
  return invariant > 0 && invariant < static_cast<int>(std::size(kTitles)) ? kTitles[invariant]
                                                                           : "";
}

ProvenHistory prove(const std::vector<Journal>& journals) {
  return Replay(journals).run();
}

std::optional<BreachInHistory> check_history(const std::vector<Journal>& journals) {
  return prove(journals).breach;
}

}  // namespace holon::holdings
