// check.hpp - proves the invariants of grants over the journals of a tree, or names the first
// moment where one does not hold.
//
// The numbers are those of docs/elastic.md: 1 one holder, 2 deltas, 3 two phases, 4 actual
// departure, 5 owned is safe, 6 terms nest, 7 returns, 8 fence before reuse. An entry that cannot
// follow in its own journal breaks one of them; what two journals say of each other is looked at
// here. 7 is about jobs: a history has it, as far as it has their uses of units.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "holdings/book.hpp"

namespace holon::holdings {

// An instance of a tree. The parent stands before its children.
struct Member {
  std::string path;                   // "/3/7"
  std::optional<std::size_t> parent;  // its place in the tree; nullopt: the root
  Peer peer = kParent;                // what the parent calls it
  Book book;
};

struct Breach {
  int invariant = 0;
  std::string path;
  std::string what;
};

// The first breach in the books of a tree at one moment; nullopt: there is none. A child that was
// fenced and does not know it yet counts for nothing.
std::optional<Breach> check(const std::vector<Member>& tree);

// The invariant in a few words: "one holder"; "" for no number of one.
const char* title_of(int invariant);

// ---- histories

struct Recorded {
  Time time = 0;
  Entry entry;
  bool begins_anew = false;  // the book is empty before it: nothing of what was before counts
};
// A job of the instance on some of its units, as it was planned when it began.
struct Use {
  JobId job;
  Units units;
  Time begin = 0, end = kTimeMax;
};
struct Journal {
  std::string path;
  // The journal of the instance above. nullopt, and a peer other than kParent: it is not there, and
  // what it may have written is taken for right.
  std::optional<std::size_t> parent;
  Peer peer = kParent;
  std::vector<Recorded> entries;  // all of them, in the order in which they were written
  // Entries that were read later than the other journals, which may have answered them. They are
  // not looked at: an answer to one of them is no breach, and ends what is looked at of its
  // journal.
  std::vector<Recorded> later = {};
  std::vector<Use> uses = {};  // by their begins
};
struct BreachInHistory {
  Breach breach;
  Time time = 0;
  std::size_t journal = 0, entry = 0;  // where
};
struct ProvenHistory {
  std::optional<BreachInHistory> breach;  // the first
  std::vector<std::size_t> looked_at;     // of each journal, so many of the first entries
};

// check() after every entry of a whole history. Entries are taken by time, and each after what it
// answers in the other journal, so that clocks may differ. A journal of a child that is not among
// them is taken for right. What a child may keep longer than was offered is counted from when each
// side wrote it, by its own clock. O(entries x what is held by an instance and its children).
ProvenHistory prove(const std::vector<Journal>& journals);
// The first breach of these.
std::optional<BreachInHistory> check_history(const std::vector<Journal>& journals);

}  // namespace holon::holdings
