// A book begins anew where its instance did, and, in a root, with the end of the last child that
// had something (kept_book.hpp). Entries of which the beginning is not kept cannot be folded.
#include "instance/grants/proof/kept_history.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "instance/grants/grant_codec.hpp"
#include "instance/job/allocation_codec.hpp"
#include "instance/journal/damage/repair.hpp"
#include "instance/journal/events/event_rows.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/records/past.hpp"
#include "instance/journal/rows.hpp"
#include "instance/journal/schema.hpp"

namespace holon::instance {
namespace {

namespace h = holdings;
namespace he = holdings::entry;

struct ReadEntries {
  std::vector<h::Recorded> entries;
  std::vector<std::int64_t> numbers;
  std::string trouble;  // "": all can be read
};

// Up to the first that is missing or makes no sense. In a journal that was made of what could be
// read of a damaged one there may be some of these by right: what is behind the last of them.
ReadEntries entries_in(SQLite::Database& db, std::int64_t from, bool is_rebuilt) {
  ReadEntries read;
  if (!db.tableExists("grant_entries")) return read;
  for (const GrantEntry& row : read_grant_entries(db, from)) {
    const auto entry = parse_entry(row.entry, 0);
    const bool follows = read.numbers.empty() || row.number == read.numbers.back() + 1;
    if (!follows)
      read.trouble = fmt::format("entry {} about grants is missing", read.numbers.back() + 1);
    else if (!entry)
      read.trouble = fmt::format("entry {}: {}", row.number, to_string(entry.error()));
    if (!read.trouble.empty() && !is_rebuilt) return read;
    if (!read.trouble.empty()) read = {};
    if (!entry) continue;
    read.entries.push_back({row.time, *entry});
    read.numbers.push_back(row.number);
  }
  return read;
}

// Where the book of a root begins anew, as KeptBook has it: of entries before the last beginning it
// is known from what they say.
class BooksOfARoot {
 public:
  bool begins_with(const h::Entry& entry) {
    const bool anew = rests_ || comes_again(entry);
    if (anew) {
      children_.clear();
      held_ = {};
    }
    rests_ = false;
    if (const auto* granted = std::get_if<he::Granted>(&entry))
      held_ = h::all_of(held_, granted->units);
    if (const auto* began = std::get_if<he::Began>(&entry)) children_.insert(began->child);
    if (const auto* over = std::get_if<he::Over>(&entry)) {
      children_.erase(over->child);
      rests_ = children_.empty();
    }
    return anew;
  }

 private:
  // A later start of the instance on the same journal.
  bool comes_again(const h::Entry& entry) const {
    const auto* granted = std::get_if<he::Granted>(&entry);
    return granted != nullptr && !h::have_none_in_common(held_, granted->units);
  }
  std::set<h::Peer> children_;
  h::Units held_;
  bool rests_ = false;
};

void keep_what_has_a_beginning(KeptHistory& history, std::int64_t since) {
  if (history.numbers.empty()) return;
  const std::int64_t first = history.numbers.front();
  history.begins_again = since > history.numbers.back();
  if (first > std::max<std::int64_t>(since, 1)) {
    history.not_kept.push_back(fmt::format("what entry {} follows is not kept", first));
    history.entries.clear();
    history.numbers.clear();
    return;
  }
  const bool has_first_book = history.path.empty() && first == 1;  // of a root
  if (first > 1)
    history.not_kept.push_back(fmt::format("entries 1 to {} are not kept any more", first - 1));
  std::size_t stop = 0;  // of earlier books
  while (stop < history.numbers.size() && history.numbers[stop] < since) ++stop;
  if (!has_first_book && stop > 0) {
    history.not_kept.push_back(
        fmt::format("entries {} to {} are of an earlier run, and what they begin with is not kept",
                    first, history.numbers[stop - 1]));
    history.entries.erase(history.entries.begin(),
                          history.entries.begin() + static_cast<std::ptrdiff_t>(stop));
    history.numbers.erase(history.numbers.begin(),
                          history.numbers.begin() + static_cast<std::ptrdiff_t>(stop));
    stop = 0;
  }
  BooksOfARoot books;
  for (std::size_t i = 0; i < stop; ++i)
    history.entries[i].begins_anew = books.begins_with(history.entries[i].entry);
  if (stop < history.entries.size()) history.entries[stop].begins_anew = true;
}

// ---- jobs on what goes back

// When the first of these units was to go back, whenever that was; kTimeMax: never.
Time earliest_end(const std::vector<h::Extend>& taken, const h::Units& units) {
  Time first = kTimeMax;
  for (const h::Extend& extend : taken)
    if (!h::have_none_in_common(extend.units, units)) first = std::min(first, extend.until);
  return first;
}

bool has_other_limit_now(SQLite::Database& db, std::int64_t job) {
  bool has = false;
  const auto take = [&](const EventRow& row) {
    if (row.job > job || row.job + row.count <= job) return true;
    const auto event = event_in(row);
    has = has || (event && std::holds_alternative<event::ResourceUpdate>(event->body));
    return true;
  };
  const auto skip = [](const std::string&) {};
  return !each_event_of(db, {{job, job}}, {take, skip}) || has;
}

std::vector<h::Use> uses_in(SQLite::Database& db, const std::vector<h::Recorded>& entries) {
  std::vector<h::Use> uses;
  std::vector<h::Extend> taken;
  for (const h::Recorded& recorded : entries)
    if (const auto* took = std::get_if<he::Took>(&recorded.entry)) taken.push_back(took->extend);
  if (taken.empty()) return uses;
  SQLite::Statement q(db, "SELECT job, begin, end, shares FROM allocs ORDER BY begin, job");
  while (q.executeStep()) {
    h::Use use{JobId(static_cast<std::uint64_t>(q.getColumn(0).getInt64())),
               {},
               q.getColumn(1).getInt64(),
               q.getColumn(2).getInt64()};
    const auto held = unpack_shares(use.job, {use.begin, use.end}, bytes_of(q.getColumn(3)));
    if (!held) continue;  // journal check says so
    for (const resource::Share& share : held->shares)
      if (share.amount > 0 && share.uniq_id >= 0)
        use.units.insert(static_cast<std::uint64_t>(share.uniq_id));
    if (use.end <= earliest_end(taken, use.units)) continue;
    if (!has_other_limit_now(db, q.getColumn(0).getInt64())) uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace

Result<KeptHistory> read_history(const JournalCopy& copy) {
  const std::string file = journal_file(copy.state_dir());
  KeptHistory history;
  const auto check = check_journal(copy.state_dir());
  if (!check) return tl::unexpected(check.error());
  history.damage = check->damage;
  if (!history.damage.empty()) return history;
  try {
    const auto db = open_to_read(file);
    if (db->execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0) return history;
    if (const auto grant = read_grant(*db)) history.path = grant->path;
    history.offset = clock_of_journal(*db).offset();
    const bool is_rebuilt = read_number(*db, kRebuilt).has_value();
    if (is_rebuilt)
      history.not_kept.push_back("the journal was made of what could be read of a damaged one");
    auto read = entries_in(*db, 0, is_rebuilt);
    history.entries = std::move(read.entries);
    history.numbers = std::move(read.numbers);
    if (!read.trouble.empty()) history.damage.push_back(read.trouble);
    keep_what_has_a_beginning(history, read_number(*db, kGrantsSince).value_or(0));
    history.uses = uses_in(*db, history.entries);
  } catch (const SQLite::Exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  }
  return history;
}

Result<std::vector<h::Recorded>> entries_behind(const JournalCopy& copy, std::int64_t number) {
  const std::string file = journal_file(copy.state_dir());
  try {
    const auto db = open_to_read(file);
    return entries_in(*db, number + 1, false).entries;
  } catch (const SQLite::Exception& e) {
    return fail(Errc::invalid_argument, e.what(), file);
  }
}

}  // namespace holon::instance
