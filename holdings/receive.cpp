// What an instance does about a message (grant.hpp). Whatever does not fit the book is passed over:
// a peer that waits for an answer says hello again.
#include <algorithm>

#include "holdings/grant.hpp"

namespace holon::holdings {

namespace {

constexpr const char* kBeyondReach = "it was out of reach for too long";

// A message to the child, from its parent.
struct FromParent {
  const Book& book;
  Time now;
  const Link& up = link_to(book, kParent);

  template <class Other>
  Turn operator()(const Other&) const {
    return {};  // it does not come from a parent
  }
  Turn operator()(const Promise& m) const { return {{}, {}, m}; }
  Turn operator()(const No& m) const { return {{}, {}, m}; }

  Turn operator()(const Extend& m) const {
    if (const Kept* kept = kept_answer(up, m.op)) return {{}, {{kParent, kept->answer}}, {}};
    if (m.from != up.epoch) return hello(book);  // one of the two is behind
    Turn turn;
    if (up.releasing) turn.entries.push_back(entry::RolledBack{up.releasing->op});
    if (const std::string why = objection(m); !why.empty()) {
      turn.entries.push_back(entry::Declined{m, why});
      turn.sent.push_back({kParent, Refused{m.op, why}});
    } else {
      turn.entries.push_back(entry::Took{m});
      turn.sent.push_back({kParent, Taken{m.op}});
    }
    return turn;
  }
  std::string objection(const Extend& m) const {
    if (book.closing) return "the instance is ending";
    if (m.units.empty() || !have_none_in_common(units_of(up), m.units))
      return "it holds some of them already";
    if (m.until <= now) return "their time is over";
    if (m.source != Source::returned && !have_none_in_common(lent_on(up), m.units))
      return "it has lent some of them itself";
    if (!have_none_in_common(given_by(book), m.replaces)) return "a child has what is replaced";
    return "";
  }

  // What is busy comes by the deadline, the rest now. Units that are not in hand are on their way.
  Turn operator()(const Recall& m) const {
    Recall mine = m;
    mine.units = common(in_hand(up), m.units);
    Will will{m.op, {}};
    const Units in_use = common(mine.units, all_of(book.busy, given_by(book)));
    if (const Units idle = without(mine.units, in_use); !idle.empty())
      will.units.push_back({idle, now});
    if (!in_use.empty()) will.units.push_back({in_use, m.by});
    Turn turn;
    if (!mine.units.empty() && !knows(mine)) turn.entries.push_back(entry::AskedBack{kParent, m});
    turn.sent.push_back({kParent, will});
    return turn;
  }
  // One that comes again has another deadline by a hair, as its time to go was counted anew.
  bool knows(const Recall& recall) const {
    return std::any_of(up.recalls.begin(), up.recalls.end(), [&](const Recall& open) {
      return open.op == recall.op || is_within(recall, open);
    });
  }

  Turn operator()(const Ack& m) const {
    if (!up.releasing || up.releasing->op != m.op) return {};
    return {{entry::Acked{m.op}}, {}, {}};
  }
  Turn operator()(const Stale& m) const {
    if (!up.releasing || up.releasing->op != m.op) return {};
    return {{entry::RolledBack{m.op}}, hello(book).sent, {}};
  }
  Turn operator()(const Lease& m) const {
    if (m.op <= up.lease.op) return {};
    return {{entry::Leased{kParent, m}}, {}, m};
  }
  Turn operator()(const Welcome& m) const {
    Turn turn;
    if (up.releasing) turn.sent.push_back({kParent, *up.releasing});
    for (const Reclaim& open : up.reclaims) turn.sent.push_back({kParent, open});
    turn.heard = m;
    return turn;
  }
  // It is gone, and with it what children of this instance had of it.
  Turn operator()(const Fenced& m) const {
    if (m.epoch <= up.epoch) return {};
    Turn turn;
    turn.heard = m;
    for (const auto& [child, link] : book.links) {
      const Units taken = without(units_of(link), m.keeps);
      if (child == kParent || taken.empty()) continue;
      const Turn fencing = fence(book, child, m.why, taken);
      turn.entries.push_back(fencing.entries.front());
      turn.entries.push_back(entry::Gone{child, taken});
      turn.sent.push_back(fencing.sent.front());
    }
    turn.entries.push_back(entry::Learned{m.epoch, m.keeps, m.lent});
    turn.sent.push_back({kParent, Hello{m.epoch}});  // what was offered since comes again
    return turn;
  }
};

// A message to the parent, from one of its children.
struct FromChild {
  const Book& book;
  Peer child;
  const Link& link = link_to(book, child);

  template <class Other>
  Turn operator()(const Other&) const {
    return {};
  }
  Turn operator()(const Demand& m) const { return {{}, {}, m}; }
  Turn operator()(const Ready& m) const { return {{}, {}, m}; }
  Turn operator()(const Withdraw& m) const { return {{}, {}, m}; }

  // What is back already is passed over, and so is what was said before.
  Turn operator()(const Reclaim& m) const {
    const auto is_same = [&](const Reclaim& open) { return open.op == m.op; };
    if (have_none_in_common(lent_on(link), m.units) ||
        std::any_of(link.reclaims.begin(), link.reclaims.end(), is_same))
      return {};
    return {{entry::Reclaimed{child, m}}, {}, {}};
  }
  Turn operator()(const Ask& m) const {
    if (const Kept* kept = kept_answer(link, m.op)) return {{}, {{child, kept->answer}}, {}};
    return {{}, {}, m};
  }
  Turn operator()(const Hello& m) const {
    if (m.epoch < link.fence) return {{}, {{child, fenced(link, kBeyondReach)}}, {}};
    Turn turn;
    turn.heard = m;
    turn.sent.push_back({child, Welcome{link.epoch}});
    if (link.extending) turn.sent.push_back({child, *link.extending});
    for (const Recall& open : link.recalls) turn.sent.push_back({child, open});
    if (link.lease.op != 0) turn.sent.push_back({child, link.lease});
    return turn;
  }
  Turn settled(Op op, bool taken) const {
    if (!link.extending || link.extending->op != op) return {};
    return {{entry::Settled{child, op, taken}}, {}, {}};
  }
  Turn operator()(const Taken& m) const { return settled(m.op, true); }
  Turn operator()(const Refused& m) const { return settled(m.op, false); }

  Turn operator()(const Will& m) const {
    Units coming;
    for (const Due& due : m.units) coming = all_of(coming, due.units);
    coming = common(units_in(link, State::asked_back), coming);
    const auto answers = [&](const Recall& open) { return open.op == m.op; };
    if (coming.empty() || std::none_of(link.recalls.begin(), link.recalls.end(), answers))
      return {{}, {}, m};
    return {{entry::Draining{child, coming}}, {}, m};
  }
  Turn operator()(const Release& m) const {
    if (const Kept* kept = kept_answer(link, m.op)) return {{}, {{child, kept->answer}}, {}};
    if (m.from < link.fence) return {{}, {{child, fenced(link, kBeyondReach)}}, {}};
    // The child has settled an extend of which the answer is still to come. The release would fit
    // once it is there: a copy of it that comes then must not be taken, so the answer is kept.
    if (link.extending && m.from == link.epoch + 1)
      return {{entry::Answered{child, m.op, Stale{m.op}}}, {{child, Stale{m.op}}}, {}};
    if (m.from != link.epoch || link.extending || m.units.empty() ||
        !has_all(in_hand(link), m.units))
      return {{}, {{child, Stale{m.op}}}, {}};
    return {{entry::Returned{child, m}}, {{child, Ack{m.op}}}, {}};
  }
};

}  // namespace

Turn receive(const Book& book, Peer from, const Message& message, Time now) {
  if (from == kParent) return std::visit(FromParent{book, now}, message);
  if (!book.links.contains(from)) return {};
  return std::visit(FromChild{book, from}, message);
}

}  // namespace holon::holdings
