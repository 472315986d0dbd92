// log.hpp - SQLite's write-ahead log (FILE-wal), frame by frame.
//
// SQLite checks each frame against a sum that runs on from the frame before, and ends its log at
// the first that does not check: one damaged byte there takes everything after it away, in silence.
// But each frame also keeps the sum up to it, so that those behind a damaged one can be checked on
// their own, and a page that is in a damaged frame is whole again if a later frame has it, too.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

struct LogState {
  std::uint64_t frames = 0;            // up to the last commit in it
  std::vector<std::uint64_t> damaged;  // of these, counted from 0
  std::vector<std::uint32_t> lost;     // pages of damaged frames that no later frame has
  bool head = true;  // the log's own header checks; without it no frame can be read

  bool whole() const { return head && damaged.empty(); }
  // Nothing is missing once it has been mended.
  bool mendable() const { return head && !damaged.empty() && lost.empty(); }
};

// Of a file that is not there or empty: no frames, whole. O(bytes). Errors: system.
Result<LogState> look_at_log(const std::string& wal_file);

// Writes the log again without its damaged frames, so that SQLite reads it to its end. REQUIRES:
// nobody has the database open. Errors: system.
Status mend_log(const std::string& wal_file);

// In words: "3 of 120 frames of the log are damaged".
std::string describe(const LogState& log);

}  // namespace holon::instance
