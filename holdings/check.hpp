// check.hpp - proves the invariants of grants over the journals of a tree, or names the first
// moment where one does not hold.
//
// The numbers are those of docs/elastic.md: 1 one holder, 2 deltas, 3 two phases, 4 actual
// departure, 5 owned is safe, 6 terms nest, 7 returns, 8 fence before reuse. An entry that cannot
// follow in its own journal breaks 2, 3, 4 or 8; what two journals say of each other is looked at
// here.
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

// ---- histories

struct Recorded {
  Time time = 0;
  Entry entry;
};
struct Journal {
  std::string path;
  std::optional<std::size_t> parent;
  Peer peer = kParent;
  std::vector<Recorded> entries;  // all of them, in the order in which they were written
};
struct BreachInHistory {
  Breach breach;
  Time time = 0;
  std::size_t journal = 0, entry = 0;  // where
};

// check() after every entry of a whole history. Entries are taken by time, and each after what it
// answers in the other journal, so that clocks may differ. O(entries x what is held).
std::optional<BreachInHistory> check_history(const std::vector<Journal>& journals);

}  // namespace holon::holdings
