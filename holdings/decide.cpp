// What an instance decides by itself (grant.hpp).
#include <algorithm>

#include "holdings/grant.hpp"

namespace holon::holdings {

namespace {

tl::unexpected<Error> not_so(const std::string& what, const Units& units) {
  return fail(Errc::invalid_argument, what, "units " + units.str());
}

Duration notice_of(const Book& book, const Units& units) {
  Duration least = kTimeMax;
  for (const Holding& holding : link_to(book, kParent).holdings)
    if (holding.notice > 0 && !have_none_in_common(holding.units, units))
      least = std::min(least, holding.notice);
  return least;
}

}  // namespace

Result<Book> commit(const Book& book, const Turn& turn) {
  Result<Book> after = book;
  for (const Entry& entry : turn.entries) {
    after = fold(*after, entry);
    if (!after) return after;
  }
  return after;
}

Result<Turn> extend(const Book& book, Peer child, Extend wanted) {
  const Link& link = link_to(book, child);
  if (child == kParent) return fail(Errc::invalid_argument, "the parent is no child");
  if (link.extending) return fail(Errc::busy, "another extend is in flight");
  if (wanted.units.empty() || !has_all(free_in(book), wanted.units))
    return not_so("not all of them are free", wanted.units);
  if (!has_all(units_of(link), wanted.replaces))
    return not_so("the child does not hold what is to be replaced", wanted.replaces);
  if (wanted.until > until_of(book, wanted.units))
    return not_so("they are held for less long", wanted.units);
  if (wanted.notice > notice_of(book, wanted.units))
    return not_so("they are held with a shorter notice", wanted.units);
  if (const Duration most = fence_of(book, wanted.units);
      most > 0 && wanted.source != Source::returned && (wanted.fence == 0 || wanted.fence > most))
    return not_so("they may be fenced sooner", wanted.units);
  const Units its_own = common(lent_on(link), wanted.units);
  if (wanted.source == Source::returned && its_own != wanted.units)
    return not_so("the child has not lent all of them", wanted.units);
  if (wanted.source != Source::returned && !its_own.empty())
    return not_so("the child has lent some of them itself", its_own);
  if (wanted.until >
      lent_until(book, wanted.units, wanted.source == Source::returned ? child : kParent))
    return not_so("a child that has lent them has them back sooner", wanted.units);
  wanted.op = book.last_op + 1;
  wanted.from = link.epoch;
  return Turn{{entry::Offered{child, wanted}}, {{child, wanted}}, {}};
}

// In one turn, so that nothing is ever placed on what no agent has looked at.
Result<Turn> give_back(const Book& book, Peer child, Extend wanted) {
  wanted.source = Source::returned;
  const Link& link = link_to(book, child);
  const Units unseen = common(common(to_clear(link), lent_on(link)), wanted.units);
  if (unseen.empty()) return extend(book, child, wanted);
  const Turn left{{entry::Gone{child, unseen}}, {}, {}};
  const auto after = commit(book, left);
  if (!after) return tl::unexpected(after.error());
  auto turn = extend(*after, child, wanted);
  if (turn) turn->entries.insert(turn->entries.begin(), left.entries.front());
  return turn;
}

Result<Turn> recall(const Book& book, Peer child, Recall wanted) {
  const Link& link = link_to(book, child);
  if (wanted.units.empty() || !has_all(in_hand(link), wanted.units))
    return not_so("the child does not hold all of them", wanted.units);
  const auto says_it = [&](const Recall& open) { return is_within(wanted, open); };
  if (std::any_of(link.recalls.begin(), link.recalls.end(), says_it)) return Turn{};
  wanted.op = book.last_op + 1;
  return Turn{{entry::AskedBack{child, wanted}}, {{child, wanted}}, {}};
}

Turn fence(const Book& book, Peer child, const std::string& why, const Units& units) {
  const Link& link = link_to(book, child);
  entry::Raised raised{child, link.epoch + 2, why, units};
  if (!units.empty() && link.extending) raised.units = all_of(units, link.extending->units);
  Turn turn{{raised}, {}, {}};
  if (const auto after = commit(book, turn))
    turn.sent.push_back({child, fenced(link_to(*after, child), why)});
  return turn;
}

Fenced fenced(const Link& link, const std::string& why) {
  return {link.fence, why, in_hand(link), lent_on(link)};
}

Result<Turn> gone(const Book& book, Peer child, const Units& units) {
  if (units.empty() || !has_all(to_clear(link_to(book, child)), units))
    return not_so("not all of them are returned or lost", units);
  return Turn{{entry::Gone{child, units}}, {}, {}};
}

Result<Turn> begin(const Book& book, Peer child, const Units& units, Time until) {
  if (child == kParent || book.links.contains(child))
    return fail(Errc::invalid_argument, "the child has begun before");
  if (!has_all(free_in(book), units)) return not_so("not all of them are free", units);
  return Turn{{entry::Began{child, units, until}}, {}, {}};
}

Result<Turn> over(const Book& book, Peer child) {
  if (child == kParent || !book.links.contains(child))
    return fail(Errc::not_found, "there is no such child");
  return Turn{{entry::Over{child}}, {}, {}};
}

Turn lease(const Book& book, Peer child, Time until) {
  const Lease lease{book.last_op + 1, until};
  return {{entry::Leased{child, lease}}, {{child, lease}}, {}};
}

Turn answer(const Book& book, Peer child, Op ask, Message promise_or_no) {
  const Kept* const kept = kept_answer(link_to(book, child), ask);
  const bool is_news = kept == nullptr || (std::holds_alternative<No>(promise_or_no) &&
                                           !std::holds_alternative<No>(kept->answer));
  if (!is_news) return {{}, {{child, kept->answer}}, {}};
  return {{entry::Answered{child, ask, promise_or_no}}, {{child, promise_or_no}}, {}};
}

Turn hello(const Book& book) {
  return {{}, {{kParent, Hello{link_to(book, kParent).epoch}}}, {}};
}

Turn ask(const Book& book, Ask wanted) {
  wanted.op = book.last_op + 1;
  Ask kept = wanted;
  kept.jobspec.clear();  // the parent has it in a job; the book needs the number
  return {{entry::Asked{kept}}, {{kParent, wanted}}, {}};
}

Result<Turn> drain(const Book& book, const Units& units) {
  const Link& up = link_to(book, kParent);
  if (!has_all(all_of(units_in(up, State::held), units_in(up, State::asked_back)), units))
    return not_so("not all of them are held", units);
  return Turn{{entry::Draining{kParent, units}}, {}, {}};
}

Result<Turn> release(const Book& book, Release wanted) {
  const Link& up = link_to(book, kParent);
  if (up.releasing) return fail(Errc::busy, "another release is in flight");
  if (wanted.units.empty() || !has_all(in_hand(up), wanted.units))
    return not_so("not all of them are held", wanted.units);
  if (!have_none_in_common(all_of(book.busy, given_by(book)), wanted.units))
    return not_so("a job or a child still has some of them", wanted.units);
  wanted.op = book.last_op + 1;
  wanted.from = up.epoch;
  return Turn{{entry::Released{wanted}}, {{kParent, wanted}}, {}};
}

Result<Turn> reclaim(const Book& book, Reclaim wanted) {
  const Link& up = link_to(book, kParent);
  if (wanted.units.empty() || !has_all(lent_on(up), wanted.units))
    return not_so("not all of them are lent", wanted.units);
  wanted.op = book.last_op + 1;
  return Turn{{entry::Reclaimed{kParent, wanted}}, {{kParent, wanted}}, {}};
}

Turn close(const Book&) {
  return {{entry::Closing{}}, {}, {}};
}

Result<Turn> place(const Book& book, const Units& units) {
  if (!has_all(free_in(book), units)) return not_so("not all of them are free", units);
  return Turn{{entry::Placed{units}}, {}, {}};
}

Turn vacate(const Book&, const Units& units) {
  return {{entry::Vacated{units}}, {}, {}};
}

}  // namespace holon::holdings
