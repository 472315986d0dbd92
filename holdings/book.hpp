// book.hpp - the book of an instance: what it holds and lends, as the fold of its journal.
//
// Replaying the journal's entries with `fold` rebuilds the book; nothing else is in it. What has
// to be done next follows from the book alone, so that doing it twice, or after a restart, is
// harmless. Values; no I/O, no clock.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "holdings/holding.hpp"
#include "holdings/messages.hpp"

namespace holon::holdings {

inline constexpr std::size_t kKeptAnswers = 64;

// The answer to something that the peer has sent: the first, or the no that took its place.
struct Kept {
  Op op = 0;
  Message answer{};
  bool operator==(const Kept&) const = default;
};

// One end of the connection to a peer. At most one delta a side is in flight.
struct Link {
  Epoch epoch = 0;
  Epoch fence = 0;  // a child whose epoch is below has lost what it held
  std::vector<Holding> holdings{};
  std::optional<Extend> extending{};   // the parent's end: not answered yet
  std::optional<Release> releasing{};  // the child's end: not acknowledged yet
  std::vector<Recall> recalls{};       // open, oldest first, each with the units not yet back
  std::vector<Kept> kept{};            // the last kKeptAnswers, oldest first
  std::vector<Due> loans{};            // what the child has lent: given back, to come again
  std::vector<Reclaim> reclaims{};     // open: loans that are to come back before their time
  Lease lease;                         // as last told; op 0: never
  bool operator==(const Link&) const = default;
};

struct Book {
  Op last_op = 0;                // the last that this instance has sent
  Units busy{};                  // held by its own jobs
  bool closing = false;          // it takes nothing more
  std::map<Peer, Link> links{};  // kParent: to the parent; of the root: what the site gave it
  bool operator==(const Book&) const = default;
};

// ---- entries of the journal, each written before anything is sent

namespace entry {

struct Granted {  // to the root, from outside; to a child, as it begins
  Units units{};
  Time until = kTimeMax;
};
struct Placed {
  Units units{};
};
struct Vacated {
  Units units{};
};
struct Closing {};
struct Asked {
  Ask ask;
};
struct Answered {  // to an ask, a promise or a no; to a release that came too early, stale
  Peer child;
  Op op = 0;
  Message answer{};
};
struct Offered {
  Peer child;
  Extend extend;
};
struct Took {
  Extend extend;
};
struct Declined {
  Extend extend;
  std::string why{};
};
struct Settled {
  Peer child;
  Op op = 0;
  bool taken = false;
};
struct AskedBack {
  Peer peer;
  Recall recall;
};
struct Draining {
  Peer peer;
  Units units{};
};
struct Released {
  Release release;
};
struct RolledBack {  // a release that nothing came of
  Op op = 0;
};
struct Returned {
  Peer child;
  Release release;
};
struct Acked {
  Op op = 0;
};
struct Raised {  // the fence before a child
  Peer child;
  Epoch epoch = 0;
  std::string why{};
  Units units{};  // that it takes, with all that is offered; none: all that the child holds
};
struct Learned {  // that the parent has fenced this instance
  Epoch epoch = 0;
  Units keeps{};
  Units lent{};  // by this instance, and to come again
};
struct Gone {  // nothing of the child is left on these units
  Peer child;
  Units units{};
};
struct Leased {
  Peer peer;
  Lease lease;
};
struct Reclaimed {  // of what the child at one end of the link has lent to the other
  Peer peer;
  Reclaim reclaim;
};
struct Began {  // a child, with what it owns; its own journal has that as granted
  Peer child;
  Units units{};
  Time until = kTimeMax;
};
struct Over {  // a child; no process of it is left
  Peer child;
};

}  // namespace entry

using Entry =
    std::variant<entry::Granted, entry::Placed, entry::Vacated, entry::Closing, entry::Asked,
                 entry::Answered, entry::Offered, entry::Took, entry::Declined, entry::Settled,
                 entry::AskedBack, entry::Draining, entry::Released, entry::RolledBack,
                 entry::Returned, entry::Acked, entry::Raised, entry::Learned, entry::Gone,
                 entry::Leased, entry::Began, entry::Over, entry::Reclaimed>;

// "offered", "took", ...
const char* name_of(const Entry& entry);

// The book after `entry`. Errors: protocol when the entry cannot follow; nothing is half applied.
Result<Book> fold(const Book& book, const Entry& entry);

// ---- what the book says

// The link to a peer; an empty one if there is none yet.
const Link& link_to(const Book& book, Peer peer);
// The units of the link's holdings, in any of the states.
Units units_of(const Link& link);
Units units_in(const Link& link, State state);
// What is given to children, in whatever state.
Units given_by(const Book& book);
// What jobs may be placed on, or what may be given: held from the parent, not asked back, neither
// busy nor given.
Units free_in(const Book& book);
// When the first of these units must be back; kTimeMax: never.
Time until_of(const Book& book, const Units& units);
// After how long without a word the first of these units may be fenced; 0: none of them ever.
Duration fence_of(const Book& book, const Units& units);
// Held, asked back or not: the units that are neither in flight nor lost.
Units in_hand(const Link& link);
// Does the other recall ask for as much at least: its units among them, and harder, or as hard and
// no later?
bool is_within(const Recall& recall, const Recall& other);
// What the agents have to see the last process of the child leave: returned or lost.
Units to_clear(const Link& link);
const Kept* kept_answer(const Link& link, Op op);
// What the child at one end of the link has lent, in all.
Units lent_on(const Link& link);
// The first time at which a child wants one of these units back that it has lent to this instance;
// kTimeMax: no child has lent any of them, beside `but`.
Time lent_until(const Book& book, const Units& units, Peer but = kParent);

}  // namespace holon::holdings
