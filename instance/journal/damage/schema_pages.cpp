#include "instance/journal/damage/schema_pages.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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

using Pages = std::map<std::uint32_t, std::string>;  // by their numbers, from 1
using SchemaRow = std::tuple<std::string, std::string, int, std::string>;

std::uint32_t number_in(const std::string& page, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value = value << 8 | static_cast<unsigned char>(page.at(at + i));
  return value;
}

void put_into(std::string& page, std::size_t at, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) page.at(at++) = static_cast<char>(value >> shift);
}

// What a file lacks at its end is zeros.
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

// The rows of the schema do not fit on the first page, which leads to those that have them. Empty:
// this program's SQLite has pages of another kind.
Pages schema_pages(const std::string& fresh) {
  const std::size_t size = number_in(read_page(fresh, kFileHead, 1), kPageSizeAt, 2);
  Pages pages;
  const std::string root = read_page(fresh, std::max(size, kFirstCellAt), 1);
  if (size != root.size() || root.at(kFileHead) != kInterior) return {};
  pages[1] = root;
  std::vector<std::uint32_t> leaves = {number_in(root, kLastChildAt, 4)};
  for (std::uint32_t cell = 0; cell < number_in(root, kCellsAt, 2); ++cell)
    leaves.push_back(number_in(root, number_in(root, kFirstCellAt + std::size_t{2} * cell, 2), 4));
  for (const auto leaf : leaves) pages[leaf] = read_page(fresh, size, leaf);
  return pages;
}

// Without what changes as rows are written.
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

// The first page of a file with so many pages, none of which is free: it is only to be read.
std::string fitting_root(std::string root, std::uint32_t pages) {
  root.at(kWriteVersionAt) = root.at(kReadVersionAt) = kLogged;
  put_into(root, kPagesAt, pages);
  for (const auto at : {kFreePagesAt, kFreePagesAt + 4}) put_into(root, at, 0);
  put_into(root, kValidForAt, number_in(root, kChangesAt, 4));
  return root;
}

// What is to be written into `file`; empty: nothing that is certain to be right.
Pages pages_to_renew(const std::string& file, const Pages& fresh) {
  Pages renewed;
  if (fresh.empty()) return renewed;
  const std::size_t size = fresh.begin()->second.size();
  for (const auto& [number, page] : fresh)
    if (!same_page(number, read_page(file, size, number), page)) renewed[number] = page;
  // The others are what tells that the tables are where those of a new journal are.
  if (renewed.size() > 1) return {};
  // A file that was cut has fewer pages than it says, and SQLite reads none of them then.
  const std::uint64_t last = std::max<std::uint64_t>(fs::file_size(file) + size - 1, 1) / size;
  const auto pages = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(last, renewed.empty() ? 0 : renewed.rbegin()->first));
  renewed[1] = fitting_root(renewed.contains(1) ? fresh.at(1) : read_page(file, size, 1), pages);
  return renewed;
}

// Throws what SQLiteCpp throws where it cannot be read.
std::vector<SchemaRow> schema_of(SQLite::Database& db) {
  std::vector<SchemaRow> rows;
  SQLite::Statement q(db, "SELECT type, name, rootpage, sql FROM sqlite_master ORDER BY rowid");
  while (q.executeStep())
    rows.emplace_back(q.getColumn(0).getString(), q.getColumn(1).getString(),
                      q.getColumn(2).getInt(), q.getColumn(3).getString());
  return rows;
}

int type_named(std::string_view name) {
  if (name == "INTEGER") return SQLite::INTEGER;
  return name == "TEXT" ? SQLite::TEXT : SQLite::BLOB;
}

// Have the first and the last row of a table the types of its columns? They would not where its
// root is that of another one. What cannot be read is no answer.
bool rows_fit(SQLite::Database& db, const std::string& table) {
  std::vector<int> types;
  std::string key;
  SQLite::Statement columns(db, fmt::format("PRAGMA table_info({})", table));
  while (columns.executeStep()) {
    types.push_back(type_named(columns.getColumn(2).getString()));
    if (columns.getColumn(5).getInt() == 1) key = columns.getColumn(1).getString();
  }
  for (const char* order : {"ASC", "DESC"}) try {
      SQLite::Statement row(
          db, fmt::format("SELECT * FROM {} ORDER BY \"{}\" {} LIMIT 1", table, key, order));
      if (!row.executeStep()) continue;
      for (std::size_t i = 0; i < types.size(); ++i)
        if (row.getColumn(static_cast<int>(i)).getType() != types[i]) return false;
    } catch (const SQLite::Exception&) {
    }
  return true;
}

// Of a journal whose schema was renewed, beside a new one.
bool is_right(const std::string& file, const std::vector<SchemaRow>& expected) {
  try {
    const auto db = open_to_read(file);
    return schema_of(*db) == expected &&
           std::all_of(expected.begin(), expected.end(), [&db](const SchemaRow& row) {
             return std::get<0>(row) != "table" || rows_fit(*db, std::get<1>(row));
           });
  } catch (const SQLite::Exception&) {
    return false;
  }
}

// In words; empty: none.
std::string damage_of_schema(const std::string& file, std::size_t tables) {
  try {
    const auto db = open_to_read(file);
    const auto found = schema_of(*db).size();
    if (found >= tables || version_of(*db) != kJournalKind.version) return "";
    return fmt::format("{} of {} tables and indexes are in it", found, tables);
  } catch (const SQLite::Exception& e) {
    return e.what();
  }
}

Result<SchemaMending> mend_like(const std::string& fresh, const std::string& file) {
  const auto expected = schema_of(*open_to_read(fresh));
  SchemaMending mending;
  mending.damage = damage_of_schema(file, expected.size());
  if (mending.damage.empty()) return mending;
  const Pages renewed = pages_to_renew(file, schema_pages(fresh));
  if (renewed.empty()) return mending;
  Pages before;
  const auto bytes = fs::file_size(file);
  for (const auto& [number, page] : renewed) before[number] = read_page(file, page.size(), number);
  if (auto written = write_pages(file, renewed); !written) return tl::unexpected(written.error());
  mending.is_renewed = is_right(file, expected);
  if (mending.is_renewed) return mending;
  if (auto undone = write_pages(file, before); !undone) return tl::unexpected(undone.error());
  fs::resize_file(file, bytes);
  return mending;
}

}  // namespace

Result<SchemaMending> mend_schema(const std::string& file) {
  const std::string fresh = file + ".fresh";
  if (auto made = create_journal(fresh, ""); !made) return tl::unexpected(made.error());
  auto mending = mend_like(fresh, file);
  std::error_code ignored;
  fs::remove(fresh, ignored);
  return mending;
}

}  // namespace holon::instance
