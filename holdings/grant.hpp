// grant.hpp - the core of a grant: how units move between a parent and a child.
//
// A turn takes the book of an instance and one thing that happens: something it decides, or a
// message. It returns the entries to write into the journal and the messages to send after that
// (`commit` gives the new book). Whoever drives it keeps this order: write, then send, then act on
// nodes. Then any message may be lost, late or doubled, and either side may die between any two
// steps: the next hello settles the rest, because each side sends again what it has in flight.
//
//   extend:   parent offered ----extend--->  child took (or declined), starts its agents
//             parent settled <--taken or refused--
//   return:   an extend of what the child has lent, which is its own again
//   release:  child released ----release-->  parent returned; its agents watch the units
//             child acked    <-----ack-----
//             parent gone: no process of the child is left there; the units are free
//
// The epoch of a grant grows by one with each delta that is settled, taken or refused, on both
// sides. If an extend and a release cross, the parent wins: the child takes its release back and
// makes it again. A fence raises the epoch by two, above all that the child may have reached alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "holdings/book.hpp"

namespace holon::holdings {

struct Sent {
  Peer to;
  Message message;
  bool operator==(const Sent&) const = default;
};

struct Turn {
  std::vector<Entry> entries;
  std::vector<Sent> sent;
  // What the policy has to look at: a demand, an ask, one withdrawn, a promise, a no, a will,
  // ready, a hello.
  std::optional<Message> heard;
};

// The book after a turn's entries. Errors: those of fold().
Result<Book> commit(const Book& book, const Turn& turn);

// ---- what a parent decides. Errors of all: busy (a delta is in flight), invalid_argument.

// Gives units that are free. `op` and `from` of `wanted` are filled in. until, notice and fence
// must nest: no later and no longer than those of the units themselves.
Result<Turn> extend(const Book& book, Peer child, Extend wanted);
// Gives a child back what it has lent, as an extend does. What processes of the child may still
// have, returned or lost, is given back as well: nobody has used it, and they are its own. Errors:
// those of extend.
Result<Turn> give_back(const Book& book, Peer child, Extend wanted);
// Asks for units back. REQUIRES nothing of the child: it answers with `will` at once. Units that
// are asked back already may be asked for again, sooner or harder; nothing happens if an open
// recall says as much.
Result<Turn> recall(const Book& book, Peer child, Recall wanted);
// Takes these units from a child beyond reach, with all that is offered to it; none: all that it
// holds. They are free only once they are gone(). What is not taken the child keeps.
Turn fence(const Book& book, Peer child, const std::string& why, const Units& units = {});
// What a child that shows an epoch before its fence is told.
Fenced fenced(const Link& link, const std::string& why);
// The instance's own agents have seen that no process of the child is left on the units.
Result<Turn> gone(const Book& book, Peer child, const Units& units);
// A child begins, with what it owns from the start.
Result<Turn> begin(const Book& book, Peer child, const Units& units, Time until);
// A child is over, and no process of it is left: all that it held is free. Errors: not_found.
Result<Turn> over(const Book& book, Peer child);
// Tells the child when its lease ends.
Turn lease(const Book& book, Peer child, Time until);
// Answers an ask that gets no units now: with a Promise, or with a No, which is the last word. Else
// the answer that was given stays.
Turn answer(const Book& book, Peer child, Op ask, Message promise_or_no);

// ---- what a child decides

// Says hello, after each connection.
Turn hello(const Book& book);
Turn ask(const Book& book, Ask wanted);
// Places nothing more on the units.
Result<Turn> drain(const Book& book, const Units& units);
// Gives units back. REQUIRES: neither a job nor a child is there, and the agents say so.
Result<Turn> release(const Book& book, Release wanted);
// Wants units back before their time that it has lent (a release with a time of return).
Result<Turn> reclaim(const Book& book, Reclaim wanted);
// Takes nothing more: the instance is about to end.
Turn close(const Book& book);

// ---- what both decide

// A job of the instance itself has these units from now on, or no longer.
Result<Turn> place(const Book& book, const Units& units);
Turn vacate(const Book& book, const Units& units);

// ---- messages

// A message that is repeated, late or not true changes nothing. `now` is for what is promised.
Turn receive(const Book& book, Peer from, const Message& message, Time now);

}  // namespace holon::holdings
