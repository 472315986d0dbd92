// kept_book.hpp - the book of an instance (holdings/book.hpp) and its journal: each entry is
// written in the turn in which it changes the book, before anything is sent.
//
// The books of instances that lend nothing and were lent nothing are empty and cost nothing. In a
// root of which no child has more than it began with, what was written before is history, of which
// the last kHistory entries are kept.
#pragma once
#include <string>
#include <vector>

#include "holdings/grant.hpp"
#include "instance/journal/journal.hpp"

namespace holon::instance {

class KeptBook {
 public:
  static constexpr std::int64_t kHistory = 1'000;

  // `rests`: nobody is above whom numbers could confuse that are given again.
  KeptBook(Journal& journal, bool rests) : journal_(journal), rests_(rests) {}

  // Errors: protocol (the entries make no sense), system.
  Status load();
  const holdings::Book& book() const { return book_; }
  const holdings::Link& up() const { return link_to(book_, holdings::kParent); }
  // Is what the instance has from above written down? One that has lent all of it holds nothing.
  bool has_begun() const { return book_.links.contains(holdings::kParent); }
  // Writes the entries of a turn. Errors: protocol: one cannot follow; nothing is changed then.
  Status write(const holdings::Turn& turn, Time now);
  Status write(holdings::Entry entry, Time now) { return write({{std::move(entry)}, {}, {}}, now); }
  // Forgets all: the book begins anew.
  void begin_anew();

 private:
  void rest();

  Journal& journal_;
  const bool rests_;
  holdings::Book book_;
  std::int64_t last_ = 0;  // the number of the last entry
};

}  // namespace holon::instance
