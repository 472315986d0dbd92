// files.hpp - the journal's database as files: made, opened to be looked at, put aside.
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace SQLite {
class Database;
}

namespace holon::instance {

// Where an instance keeps its journal.
std::string journal_file(const std::string& state_dir);
// The log beside a database.
std::string log_file(const std::string& file);

// An empty journal of instance `id`. Its tables are on the disk, in the database itself and not in
// the log, before it has its name. Errors: system.
Status create_journal(const std::string& file, const std::string& id);

// From here on numbers of events do not mean what they meant. Throws what SQLiteCpp throws.
void begin_era(SQLite::Database& journal);

// For reading alone: takes no lock and leaves file and log as they are. Also on a disk that is
// read-only. Throws what SQLiteCpp throws. REQUIRES: nobody writes to it.
std::unique_ptr<SQLite::Database> open_to_read(const std::string& file);

// Renames what there is of a database, and its log, to FILE.damaged-DATE-TIME. Returns that name;
// empty: there was nothing. Errors: system.
Result<std::string> put_aside(const std::string& file, Time now);

// What the disk below a directory says to a small file, in words for the end of "the disk of DIR ":
// "is full", "is read-only"; nullopt: it takes it.
std::optional<std::string> disk_trouble(const std::string& dir);

// Which file a name led to.
struct FileLook {
  dev_t device = 0;
  ino_t number = 0;
  off_t size = 0;
  bool is_link = false;  // then the rest is of what it leads to

  static std::optional<FileLook> at(const std::string& file);
  bool same_file(const FileLook& other) const {
    return device == other.device && number == other.number && is_link == other.is_link;
  }
};

}  // namespace holon::instance
