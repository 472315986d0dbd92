#include "instance/grants/kept_book.hpp"

#include <algorithm>

#include "instance/grants/grant_codec.hpp"
#include "instance/journal/schema.hpp"

namespace holon::instance {

Status KeptBook::load() {
  const auto since = journal_.number(kGrantsSince);
  if (!since) return tl::unexpected(since.error());
  const auto rows = journal_.grant_entries(since->value_or(0));
  if (!rows) return tl::unexpected(rows.error());
  if (!rows->empty()) last_ = rows->back().number;
  for (const GrantEntry& row : *rows) {
    const auto entry = parse_entry(row.entry, 0);
    if (!entry) return tl::unexpected(entry.error());
    auto after = fold(book_, *entry);
    if (!after) return tl::unexpected(after.error());
    book_ = std::move(*after);
  }
  return {};
}

Status KeptBook::write(const holdings::Turn& turn, Time now) {
  if (turn.entries.empty()) return {};
  auto after = commit(book_, turn);
  if (!after) return tl::unexpected(after.error());
  book_ = std::move(*after);
  bool child_is_over = false;
  for (const holdings::Entry& entry : turn.entries) {
    last_ = journal_.add_grant_entry(now, text_of(entry, 0));
    child_is_over = child_is_over || std::holds_alternative<holdings::entry::Over>(entry);
  }
  if (child_is_over) rest();
  return {};
}

// What was lent is back.
void KeptBook::rest() {
  const bool lends = book_.links.size() > book_.links.count(holdings::kParent);
  if (rests_ && !lends) begin_anew();
}

void KeptBook::begin_anew() {
  book_ = {};
  if (const auto rows = journal_.grant_entries(last_); rows && !rows->empty())
    last_ = rows->back().number;
  journal_.set_number(kGrantsSince, last_ + 1);
  journal_.drop_grant_entries(last_ - kHistory);
}

}  // namespace holon::instance
