// files.hpp - the journal's database as files: made, opened for reading, put aside.
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

// The file of an instance's journal.
std::string journal_file(const std::string& state_dir);
// The write-ahead log of a database.
std::string log_file(const std::string& file);

// Makes an empty journal of instance `id`. Its tables are on the disk, in the database itself and
// not in the log, before the file has its name. Errors: system.
Status create_journal(const std::string& file, const std::string& id);

// Begins an era: numbers of events mean something else from now on. Throws what SQLiteCpp throws.
void begin_era(SQLite::Database& journal);

// Opens for reading only, even on a read-only disk: takes no lock and changes neither file nor log.
// Throws what SQLiteCpp throws. REQUIRES: nobody writes to it.
std::unique_ptr<SQLite::Database> open_to_read(const std::string& file);

// Renames a database and its log, where they exist, to FILE.damaged-DATE-TIME. Returns that name;
// empty: there was nothing. Errors: system.
Result<std::string> put_aside(const std::string& file, Time now);

// Why the disk below a directory refuses a small file, in words for the end of "the disk of DIR ":
// "is full", "is read-only"; nullopt: it takes it.
std::optional<std::string> disk_trouble(const std::string& dir);

// The file that a name led to.
struct FileLook {
  dev_t device = 0;
  ino_t number = 0;
  off_t size = 0;
  bool is_link = false;  // the name is a link; the rest is of its target

  static std::optional<FileLook> at(const std::string& file);
  bool same_file(const FileLook& other) const {
    return device == other.device && number == other.number && is_link == other.is_link;
  }
};

}  // namespace holon::instance
