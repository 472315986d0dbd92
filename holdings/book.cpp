// The entries are applied to a copy: an entry that cannot follow leaves the book as it was.
#include "holdings/book.hpp"

#include <algorithm>
#include <iterator>

namespace holon::holdings {

namespace {

Status wrong_entry(const char* what) {
  return fail(Errc::protocol, what, "journal");
}

// ---- the holdings of a link

void sort_holdings(std::vector<Holding>& all) {
  std::sort(all.begin(), all.end(),
            [](const Holding& a, const Holding& b) { return a.units.first() < b.units.first(); });
}

// Takes the units out of the holdings and returns them as holdings of their own.
std::vector<Holding> cut(std::vector<Holding>& all, const Units& units) {
  std::vector<Holding> taken;
  for (Holding& holding : all) {
    Holding part = holding;
    part.units = common(holding.units, units);
    if (part.units.empty()) continue;
    holding.units = without(holding.units, units);
    taken.push_back(std::move(part));
  }
  std::erase_if(all, [](const Holding& holding) { return holding.units.empty(); });
  return taken;
}

void put(std::vector<Holding>& all, Holding added) {
  for (Holding& holding : all) {
    Holding same = added;
    same.units = holding.units;
    if (same != holding) continue;
    holding.units = all_of(holding.units, added.units);
    return sort_holdings(all);
  }
  all.push_back(std::move(added));
  sort_holdings(all);
}

// Why they were asked back stays known while they go.
void change(std::vector<Holding>& all, const Units& units, State state) {
  for (Holding& part : cut(all, units)) {
    part.state = state;
    put(all, std::move(part));
  }
}
void change(std::vector<Holding>& all, const Units& units, State state, const std::string& why) {
  for (Holding& part : cut(all, units)) {
    part.state = state;
    part.why = why;
    put(all, std::move(part));
  }
}

// ---- open recalls

// What is on its way already is asked for again by a recall that is harder.
void open_recall(Link& link, Recall recall) {
  recall.units = common(in_hand(link), recall.units);
  if (recall.units.empty()) return;
  for (Holding& part : cut(link.holdings, recall.units)) {
    if (part.state == State::held) part.state = State::asked_back;
    part.why = recall.why;
    put(link.holdings, std::move(part));
  }
  std::erase_if(link.recalls, [&](const Recall& open) { return is_within(open, recall); });
  link.recalls.push_back(std::move(recall));
}

void close_recalls(Link& link, const Units& units) {
  for (Recall& open : link.recalls) open.units = without(open.units, units);
  std::erase_if(link.recalls, [](const Recall& open) { return open.units.empty(); });
}

// A loan that comes again is what it was before: the child's own.
Holding brought_by(const Extend& extend, Peer peer, State state) {
  return {.units = extend.units,
          .peer = peer,
          .side = peer == kParent ? Side::received : Side::given,
          .source = extend.source == Source::returned ? Source::owned : extend.source,
          .until = extend.until,
          .state = state,
          .epoch = extend.from + 1,
          .why = {},
          .notice = extend.notice,
          .fence = extend.fence};
}

template <class Listed>
void take_off(std::vector<Listed>& all, const Units& units) {
  for (Listed& one : all) one.units = without(one.units, units);
  std::erase_if(all, [](const Listed& one) { return one.units.empty(); });
}

// A loan is over for what has come again.
void pay_back(Link& link, const Units& units) {
  take_off(link.loans, units);
  take_off(link.reclaims, units);
}

void lend(Link& link, const Release& release) {
  if (release.back_at != kTimeMax) link.loans.push_back({release.units, release.back_at});
}

// What was to be lent, and is not, is the holder's as before; the rest still goes back.
void roll_back(Link& up) {
  if (!up.releasing) return;
  change(up.holdings, up.releasing->units, State::draining);
  if (up.releasing->back_at != kTimeMax)
    for (Holding& part : cut(up.holdings, up.releasing->units)) {
      if (part.source == Source::owned) part.state = State::held;
      put(up.holdings, std::move(part));
    }
  up.releasing.reset();
}

// A later answer to the same takes the place of the one before: a promise is kept or broken.
void keep_answer(Link& link, Op op, Message answer) {
  std::erase_if(link.kept, [op](const Kept& kept) { return kept.op == op; });
  link.kept.push_back({op, std::move(answer)});
  if (link.kept.size() > kKeptAnswers) link.kept.erase(link.kept.begin());
}

bool are_all(const Link& link, const Units& units, std::initializer_list<State> states) {
  Units there;
  for (const State state : states) there = all_of(there, units_in(link, state));
  return !units.empty() && has_all(there, units);
}

// ---- one entry

struct Applying {
  Book& book;

  Link& up() { return book.links[kParent]; }
  void number(Op op) { book.last_op = std::max(book.last_op, op); }

  Status operator()(const entry::Granted& e) {
    if (!have_none_in_common(units_of(up()), e.units)) return wrong_entry("a unit comes twice");
    put(up().holdings, {.units = e.units, .until = e.until});
    return {};
  }
  Status operator()(const entry::Placed& e) {
    if (!has_all(free_in(book), e.units)) return wrong_entry("a job on units that are not free");
    book.busy = all_of(book.busy, e.units);
    return {};
  }
  Status operator()(const entry::Vacated& e) {
    book.busy = without(book.busy, e.units);
    return {};
  }
  Status operator()(const entry::Closing&) {
    book.closing = true;
    return {};
  }
  Status operator()(const entry::Asked& e) {
    number(e.ask.op);
    return {};
  }
  Status operator()(const entry::Answered& e) {
    keep_answer(book.links[e.child], e.op, e.answer);
    return {};
  }

  Status operator()(const entry::Offered& e) {
    Link& link = book.links[e.child];
    if (link.extending) return wrong_entry("two extends in flight");
    if (e.extend.from != link.epoch) return wrong_entry("an extend from another epoch");
    if (!has_all(free_in(book), e.extend.units)) return wrong_entry("units that are not free");
    if (e.extend.source == Source::returned && !has_all(lent_on(link), e.extend.units))
      return wrong_entry("a return of units that are not lent");
    put(link.holdings, brought_by(e.extend, e.child, State::offered));
    link.extending = e.extend;
    number(e.extend.op);
    if (e.extend.answers != 0) keep_answer(link, e.extend.answers, e.extend);
    return {};
  }
  Status operator()(const entry::Settled& e) {
    Link& link = book.links[e.child];
    if (!link.extending || link.extending->op != e.op)
      return wrong_entry("an answer to no extend in flight");
    const Extend extend = *link.extending;
    link.extending.reset();
    ++link.epoch;
    if (!e.taken) {
      cut(link.holdings, extend.units);
      return {};
    }
    pay_back(link, extend.units);
    change(link.holdings, extend.units, State::held);
    close_recalls(link, extend.replaces);
    change(link.holdings, extend.replaces, State::lost, "replaced by a spare");
    return {};
  }
  Status operator()(const entry::Took& e) {
    if (e.extend.from != up().epoch) return wrong_entry("an extend from another epoch");
    if (!have_none_in_common(units_of(up()), e.extend.units))
      return wrong_entry("a unit comes twice");
    ++up().epoch;
    put(up().holdings, brought_by(e.extend, kParent, State::held));
    cut(up().holdings, e.extend.replaces);
    close_recalls(up(), e.extend.replaces);
    pay_back(up(), e.extend.units);
    book.busy = without(book.busy, e.extend.replaces);
    keep_answer(up(), e.extend.op, Taken{e.extend.op});
    return {};
  }
  Status operator()(const entry::Declined& e) {
    if (e.extend.from != up().epoch) return wrong_entry("an extend from another epoch");
    ++up().epoch;  // so that nothing that starts from before can come later
    keep_answer(up(), e.extend.op, Refused{e.extend.op, e.why});
    return {};
  }

  Status operator()(const entry::AskedBack& e) {
    open_recall(book.links[e.peer], e.recall);
    if (e.peer != kParent) number(e.recall.op);
    return {};
  }
  Status operator()(const entry::Draining& e) {
    Link& link = book.links[e.peer];
    if (!has_all(in_hand(link), e.units)) return wrong_entry("a drain of units that are not held");
    change(link.holdings, e.units, State::draining);
    return {};
  }
  Status operator()(const entry::Released& e) {
    const Release& release = e.release;
    if (up().releasing) return wrong_entry("two releases in flight");
    if (release.from != up().epoch) return wrong_entry("a release from another epoch");
    if (release.units.empty() || !has_all(in_hand(up()), release.units) ||
        !have_none_in_common(all_of(book.busy, given_by(book)), release.units))
      return wrong_entry("a release of units that are not free of work");
    change(up().holdings, release.units, State::returned);
    up().releasing = release;
    number(release.op);
    return {};
  }
  Status operator()(const entry::RolledBack& e) {
    if (!up().releasing || up().releasing->op != e.op) return wrong_entry("no such release");
    roll_back(up());
    return {};
  }
  Status operator()(const entry::Returned& e) {
    Link& link = book.links[e.child];
    if (e.release.from != link.epoch || link.extending)
      return wrong_entry("a release from another epoch");
    if (e.release.units.empty() || !has_all(in_hand(link), e.release.units))
      return wrong_entry("a release of units that are not held");
    ++link.epoch;
    change(link.holdings, e.release.units, State::returned);
    close_recalls(link, e.release.units);
    lend(link, e.release);
    keep_answer(link, e.release.op, Ack{e.release.op});
    return {};
  }
  Status operator()(const entry::Acked& e) {
    if (!up().releasing || up().releasing->op != e.op) return wrong_entry("no such release");
    ++up().epoch;
    cut(up().holdings, up().releasing->units);
    close_recalls(up(), up().releasing->units);
    lend(up(), *up().releasing);
    up().releasing.reset();
    return {};
  }

  Status operator()(const entry::Raised& e) {
    Link& link = book.links[e.child];
    if (e.epoch < link.epoch + 2) return wrong_entry("a fence that a delta in flight could reach");
    const Units all = units_of(link), taken = e.units.empty() ? all : e.units;
    if (!has_all(all, taken)) return wrong_entry("a fence around units that are not held");
    // An answer to the offer would start from an epoch that is over.
    if (link.extending && !has_all(taken, link.extending->units))
      return wrong_entry("a fence that leaves out what is offered");
    link.epoch = link.fence = e.epoch;
    change(link.holdings, taken, State::lost, e.why);
    if (link.extending && link.extending->answers != 0)
      keep_answer(link, link.extending->answers, No{link.extending->answers, e.why, "", false});
    link.extending.reset();
    close_recalls(link, taken);
    if (e.units.empty()) {
      link.loans.clear();
      link.reclaims.clear();
    }
    return {};
  }
  Status operator()(const entry::Learned& e) {
    if (e.epoch <= up().epoch) return wrong_entry("a fence that is known");
    const Units taken = without(units_of(up()), e.keeps);
    up().epoch = e.epoch;
    // What it was about to lend has arrived: only the answer is missing.
    if (up().releasing && has_all(e.lent, up().releasing->units)) lend(up(), *up().releasing);
    roll_back(up());
    cut(up().holdings, taken);
    close_recalls(up(), taken);
    pay_back(up(), without(lent_on(up()), e.lent));
    // What had come again, and was taken with the rest, is lent as before.
    if (const Units again = without(e.lent, lent_on(up())); !again.empty())
      up().loans.push_back({again, 0});
    book.busy = without(book.busy, taken);
    return {};
  }
  Status operator()(const entry::Gone& e) {
    Link& link = book.links[e.child];
    if (!are_all(link, e.units, {State::returned, State::lost}))
      return wrong_entry("gone from units that are not returned or lost");
    cut(link.holdings, e.units);
    return {};
  }
  Status operator()(const entry::Leased& e) {
    Link& link = book.links[e.peer];
    if (e.lease.op <= link.lease.op) return wrong_entry("a lease older than the last one");
    link.lease = e.lease;
    if (e.peer != kParent) number(e.lease.op);
    return {};
  }
  Status operator()(const entry::Reclaimed& e) {
    Link& link = book.links[e.peer];
    Reclaim reclaim = e.reclaim;
    reclaim.units = common(lent_on(link), reclaim.units);
    if (reclaim.units.empty()) return wrong_entry("of units that are not lent");
    link.reclaims.push_back(std::move(reclaim));
    if (e.peer == kParent) number(e.reclaim.op);
    return {};
  }
  Status operator()(const entry::Began& e) {
    if (book.links.contains(e.child)) return wrong_entry("a child that has begun");
    if (!has_all(free_in(book), e.units)) return wrong_entry("units that are not free");
    put(book.links[e.child].holdings,
        {.units = e.units, .peer = e.child, .side = Side::given, .until = e.until});
    return {};
  }
  Status operator()(const entry::Over& e) {
    if (e.child == kParent || book.links.erase(e.child) == 0) return wrong_entry("no such child");
    return {};
  }
};

}  // namespace

const char* name_of(const Entry& entry) {
  static constexpr const char* kNames[] = {
      "granted",  "placed",  "vacated", "closing", "asked",    "answered",    "offered",  "took",
      "declined", "settled", "recall",  "drain",   "released", "rolled-back", "returned", "acked",
      "raised",   "learned", "gone",    "leased",  "began",    "over",        "reclaim"};
  static_assert(std::size(kNames) == std::variant_size_v<Entry>);
  return kNames[entry.index()];
}

Result<Book> fold(const Book& book, const Entry& entry) {
  Book after = book;
  Applying applying{after};
  if (Status good = std::visit(applying, entry); !good)
    return fail(good.error().code, std::string(name_of(entry)) + ": " + good.error().what,
                good.error().where);
  return after;
}

const Link& link_to(const Book& book, Peer peer) {
  static const Link kNone;
  const auto found = book.links.find(peer);
  return found == book.links.end() ? kNone : found->second;
}

Units units_of(const Link& link) {
  Units all;
  for (const Holding& holding : link.holdings) all = all_of(all, holding.units);
  return all;
}

Units units_in(const Link& link, State state) {
  Units all;
  for (const Holding& holding : link.holdings)
    if (holding.state == state) all = all_of(all, holding.units);
  return all;
}

Units given_by(const Book& book) {
  Units all;
  for (const auto& [peer, link] : book.links)
    if (peer != kParent) all = all_of(all, units_of(link));
  return all;
}

Units free_in(const Book& book) {
  return without(units_in(link_to(book, kParent), State::held), all_of(book.busy, given_by(book)));
}

Time until_of(const Book& book, const Units& units) {
  Time first = kTimeMax;
  for (const Holding& holding : link_to(book, kParent).holdings)
    if (!have_none_in_common(holding.units, units)) first = std::min(first, holding.until);
  return first;
}

Duration fence_of(const Book& book, const Units& units) {
  Duration least = 0;
  for (const Holding& holding : link_to(book, kParent).holdings)
    if (holding.fence > 0 && !have_none_in_common(holding.units, units))
      least = least == 0 ? holding.fence : std::min(least, holding.fence);
  return least;
}

Units in_hand(const Link& link) {
  return all_of(units_in(link, State::held),
                all_of(units_in(link, State::asked_back), units_in(link, State::draining)));
}

bool is_within(const Recall& recall, const Recall& other) {
  const bool as_hard =
      recall.mode < other.mode || (recall.mode == other.mode && other.by <= recall.by);
  return as_hard && has_all(other.units, recall.units);
}

Units to_clear(const Link& link) {
  return all_of(units_in(link, State::returned), units_in(link, State::lost));
}

Units lent_on(const Link& link) {
  Units all;
  for (const Due& loan : link.loans) all = all_of(all, loan.units);
  return all;
}

Time lent_until(const Book& book, const Units& units, Peer but) {
  Time first = kTimeMax;
  for (const auto& [peer, link] : book.links)
    for (const Due& loan : link.loans)
      if (peer != kParent && peer != but && !have_none_in_common(loan.units, units))
        first = std::min(first, loan.at);
  return first;
}

const Kept* kept_answer(const Link& link, Op op) {
  const auto found = std::find_if(link.kept.begin(), link.kept.end(),
                                  [op](const Kept& kept) { return kept.op == op; });
  return found == link.kept.end() ? nullptr : &*found;
}

}  // namespace holon::holdings
