#include "instance/journal/damage/schema_pages.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "instance/journal/damage/layout.hpp"
#include "instance/journal/files.hpp"
#include "instance/journal/schema.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

// https://www.sqlite.org/fileformat2.html
constexpr std::size_t kPageSizeAt = 16, kWriteVersionAt = 18, kReadVersionAt = 19;
constexpr std::size_t kChangesAt = 24, kPagesAt = 28, kFreePagesAt = 32, kCookieAt = 40;
constexpr std::size_t kValidForAt = 92, kFileHead = 100;
constexpr std::size_t kCellsAt = kFileHead + 3, kLastChildAt = kFileHead + 8,
                      kFirstCellAt = kFileHead + 12;
constexpr char kInterior = 5, kLogged = 2;

// Every journal of this version has at least this many tables, even if the program that made it
// kept no layout. Tables added to kLaterTables from now on do not count.
constexpr int kFewestTables = 28;

using Pages = std::map<std::uint32_t, std::string>;  // by their numbers, from 1

std::uint32_t number_in(const std::string& page, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value = value << 8 | static_cast<unsigned char>(page.at(at + i));
  return value;
}

void put_into(std::string& page, std::size_t at, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) page.at(at++) = static_cast<char>(value >> shift);
}

// Reads a page; bytes that the file lacks at its end are zeros.
std::string read_page(const std::string& file, std::size_t size, std::uint32_t number) {
  std::string page(size, '\0');
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(size * (number - 1)));
  in.read(page.data(), static_cast<std::streamsize>(size));
  return page;
}

Status write_pages(const std::string& file, const Pages& pages) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  for (const auto& [number, page] : pages) {
    out.seekp(static_cast<std::streamoff>(page.size() * (number - 1)));
    out.write(page.data(), static_cast<std::streamsize>(page.size()));
  }
  out.close();
  if (out) return {};
  return fail(Errc::system, std::strerror(errno), file);
}

// The bytes of the database as a file would have them.
std::string image_of(SQLite::Database& db) {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(db.getHandle(), "main", &size, 0), &sqlite3_free);
  return bytes ? std::string(bytes.get(), bytes.get() + size) : "";
}

// The schema's pages in a journal's bytes. The rows of the schema do not fit on the first page,
// which leads to the others. Empty: this program's SQLite has pages of another kind.
Pages schema_pages(const std::string& journal) {
  if (journal.size() < kFileHead) return {};
  const std::size_t size = number_in(journal, kPageSizeAt, 2);
  const std::string root = journal.substr(0, size);
  if (size < kFileHead || root.at(kFileHead) != kInterior) return {};
  Pages pages = {{1, root}};
  std::vector<std::uint32_t> leaves = {number_in(root, kLastChildAt, 4)};
  for (std::uint32_t cell = 0; cell < number_in(root, kCellsAt, 2); ++cell)
    leaves.push_back(number_in(root, number_in(root, kFirstCellAt + std::size_t{2} * cell, 2), 4));
  for (const auto leaf : leaves) pages[leaf] = journal.substr(size * (leaf - 1), size);
  return pages;
}

// The page without the fields that change as rows are written.
std::string lasting_part(std::string page) {
  const auto blank = [&page](std::size_t from, std::size_t to) {
    std::fill(page.begin() + static_cast<std::ptrdiff_t>(from),
              page.begin() + static_cast<std::ptrdiff_t>(to), '\0');
  };
  blank(kWriteVersionAt, kReadVersionAt + 1);
  blank(kChangesAt, kCookieAt);
  blank(kValidForAt, kFileHead);
  return page;
}

bool same_page(std::uint32_t number, const std::string& a, const std::string& b) {
  return number == 1 ? lasting_part(a) == lasting_part(b) : a == b;
}

// The first page of a file with so many pages, none of them free: the file is only to be read.
std::string fitting_root(std::string root, std::uint32_t pages) {
  root.at(kWriteVersionAt) = root.at(kReadVersionAt) = kLogged;
  put_into(root, kPagesAt, pages);
  for (const auto at : {kFreePagesAt, kFreePagesAt + 4}) put_into(root, at, 0);
  put_into(root, kValidForAt, number_in(root, kChangesAt, 4));
  return root;
}

struct Renewal {
  Pages pages;  // to be written; empty: none is certain to be right
  std::string how;
  bool is_from_new = false;  // one page is that of a new journal
};

Renewal renewal_of(const std::string& file, const Pages& fresh) {
  if (fresh.empty()) return {};
  const std::size_t size = fresh.begin()->second.size();
  Renewal renewal;
  for (const auto& [number, page] : fresh)
    if (!same_page(number, read_page(file, size, number), page)) renewal.pages[number] = page;
  if (renewal.pages.size() > 1) return {};
  renewal.is_from_new = !renewal.pages.empty();
  std::string root = renewal.pages.contains(1) ? fresh.at(1) : read_page(file, size, 1);
  // A file that was cut has fewer pages than it says, and SQLite then reads none of them.
  auto pages = static_cast<std::uint32_t>((fs::file_size(file) + size - 1) / size);
  if (!renewal.is_from_new && number_in(root, kPagesAt, 4) == pages) return {};
  renewal.how = renewal.is_from_new
                    ? "its damaged page was written anew"
                    : "the file has not as many pages as it said, and says now how many it has";
  if (renewal.is_from_new) pages = std::max(pages, renewal.pages.rbegin()->first);
  renewal.pages[1] = fitting_root(std::move(root), pages);
  return renewal;
}

// Does SQLite find in `file` what a new journal has? Only the layout that the journal itself has
// kept tells that `file` had the same: its sound pages may agree, too, where an earlier program
// made tables and others were added since.
bool is_right(const std::string& file, const std::string& layout, bool is_from_new) {
  try {
    const auto db = open_to_read(file);
    return layout_of(*db) == layout && (!is_from_new || kept_layout(*db) == layout);
  } catch (const SQLite::Exception&) {
    return false;
  }
}

// The columns of each table.
std::map<std::string, std::string> columns_in(SQLite::Database& journal) {
  std::map<std::string, std::string> columns;
  SQLite::Statement q(journal,
                      "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c "
                      "WHERE t.type = 'table' ORDER BY t.name, c.cid");
  while (q.executeStep()) columns[q.getColumn(0).getString()] += q.getColumn(1).getString() + " ";
  return columns;
}

// A table in which a column has another name than in a new journal, in words; empty: none.
std::string other_columns(SQLite::Database& journal) {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  if (!make_tables(fresh, "")) return "";
  const auto expected = columns_in(fresh);
  for (const auto& [table, columns] : columns_in(journal))
    if (const auto right = expected.find(table);
        right != expected.end() && right->second != columns)
      return fmt::format("the columns of table {} have other names", table);
  return "";
}

// The damage in words; empty: none.
std::string damage_of_schema(const std::string& file) {
  try {
    const auto db = open_to_read(file);
    const int tables = tables_in(*db);
    if (version_of(*db) != kJournalKind.version) return "";
    const bool is_whole = tables >= std::max(kFewestTables, tables_of(kept_layout(*db)));
    if (!is_whole) return fmt::format("{} tables are found, not all that there were", tables);
    return other_columns(*db);
  } catch (const SQLite::Exception& e) {
    return e.what();
  }
}

Status write_or_undo(const std::string& file, const std::string& layout, const Renewal& renewal,
                     SchemaMending& mending) {
  Pages before;
  const auto bytes = fs::file_size(file);
  for (const auto& [number, page] : renewal.pages)
    before[number] = read_page(file, page.size(), number);
  if (auto written = write_pages(file, renewal.pages); !written) return written;
  if (is_right(file, layout, renewal.is_from_new)) {
    mending.mended = renewal.how;
    return {};
  }
  if (auto undone = write_pages(file, before); !undone) return undone;
  fs::resize_file(file, bytes);
  return {};
}

// Takes the indexes of lost tables out of the schema: beside one of them SQLite reads no table.
void drop_lost_indexes(const std::string& file) {
  try {
    SQLite::Database db(file, SQLite::OPEN_READWRITE);
    db.exec("PRAGMA writable_schema=ON");  // and what is wrong with the schema is passed over
    db.exec(
        "DELETE FROM sqlite_schema WHERE type = 'index' AND "
        "tbl_name NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')");
  } catch (const SQLite::Exception&) {
    return;  // more is wrong with it
  }
}

Status renew_pages(const std::string& file, SchemaMending& mending) {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  if (auto made = make_tables(fresh, ""); !made) return made;
  const auto renewal = renewal_of(file, schema_pages(image_of(fresh)));
  return renewal.pages.empty() ? Status() : write_or_undo(file, layout_of(fresh), renewal, mending);
}

}  // namespace

Result<SchemaMending> mend_schema(const std::string& file) {
  SchemaMending mending;
  mending.damage = damage_of_schema(file);
  if (mending.damage.empty()) return mending;
  if (auto renewed = renew_pages(file, mending); !renewed) return tl::unexpected(renewed.error());
  if (!mending.mended.empty()) return mending;
  drop_lost_indexes(file);
  // What is said of the schema now is what is still wrong with it.
  if (const auto left = damage_of_schema(file); !left.empty()) mending.damage = left;
  return mending;
}

}  // namespace holon::instance
