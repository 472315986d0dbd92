// log.hpp - SQLite's write-ahead log (FILE-wal), frame by frame.
//
// SQLite checks each frame against a sum that runs on from the frame before, and ends its log at
// the first that does not check: one damaged byte there silently takes everything after it away.
// But each frame also stores the running sum, so that the frames behind a damaged one can be
// checked on their own, and a page in a damaged frame is whole again if a later frame has it, too.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace holon::instance {

struct LogState {
  std::uint64_t frames = 0;            // up to the last commit in it
  std::vector<std::uint64_t> damaged;  // damaged ones among these, counted from 0
  std::vector<std::uint32_t> lost;     // pages of damaged frames that no later frame has
  bool head = true;  // the log's own header checks; without it no frame can be read

  bool whole() const { return head && damaged.empty(); }
  // Once the log has been mended, is nothing missing?
  bool mendable() const { return head && !damaged.empty() && lost.empty(); }
};

// A file that is missing or empty has no frames and is whole. O(bytes). Errors: system.
Result<LogState> look_at_log(const std::string& wal_file);

// Rewrites the log without its damaged frames, so that SQLite reads it to its end. REQUIRES: nobody
// has the database open. Errors: system.
Status mend_log(const std::string& wal_file);

// The damage in words: "3 of 120 frames of the log are damaged".
std::string describe(const LogState& log);

}  // namespace holon::instance
