// disk.hpp - the disk under SQLite: a layer over the machine's own files that drops what dead
// processes write, fills up, fails, and loses what was not synced when the machine crashes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holon::world {

class Machine;

class Disk {
 public:
  explicit Disk(Machine& machine);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Lets nothing below this folder grow any more, until it is freed.
  void fill(const std::string& dir) { full_.insert(dir + "/"); }
  void free(const std::string& dir) { full_.erase(dir + "/"); }
  // Loses all that was not synced. REQUIRES: no process lives.
  void lose_power();

  // Plants: loses what was written and not synced below this folder; no process has it open.
  void lose_unsynced(const std::string& dir);
  // Copies of the journal of this folder as it is now; the last one, or the folder itself.
  void take_snapshot(const std::string& dir);
  std::string snapshot_of(const std::string& dir) const;
  void go_back(const std::string& dir);
  // Deletes all rows of a table of the journal, or those for which this holds.
  void forget(const std::string& dir, const std::string& table, const std::string& where = "1");
  // Changes the journal by this statement.
  void change(const std::string& dir, const std::string& statement);

  // Used by the files.
  struct Undo {
    std::int64_t offset = 0;
    std::string before;
    std::int64_t size = 0;  // of the file, before
  };
  // May the current process write up to `end` into the file? Returns an SQLite code; *dropped: it
  // is told that it has, and nothing is written.
  int may_write(const std::string& file, std::int64_t end, std::int64_t size, bool* dropped);
  void written(const std::string& file, Undo undo) { undo_[file].push_back(std::move(undo)); }
  void synced(const std::string& file) { undo_.erase(file); }

 private:
  void undo(const std::string& file);

  Machine& machine_;
  std::set<std::string> full_;
  std::map<std::string, std::vector<Undo>> undo_;
};

}  // namespace holon::world
