// dead_child.hpp - reads the records that an ended instance has left from its journal.
//
// An acknowledged job is in the journal of the instance that acknowledged it. When that instance is
// over, however it ended, its parent reads the records from there, and those of instances below it
// whose records nobody above them has taken over: their journals are in `children/ID` of its state
// directory. A separate process beside the files does the reading (`holon remains`, started by the
// parent's agent): a journal that is damaged, huge or hostile costs no broker anything.
//
// The records come in pieces, each from a process that remembers nothing of the one before. The
// files are not changed.
#pragma once
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "msg/dead_child.hpp"

namespace holon::instance {

// How long a reader waits for another process that has the journal open, before it says "busy".
inline constexpr std::chrono::milliseconds kPatience{2000};

// The piece that begins at `from` ("": the first). A missing journal yields nothing, a damaged one
// what can be read of it. Records of jobs that are not over carry, in CLEANUP, the result they
// would have had. O(piece).
msg::DeadChild read_dead_child(const std::string& state_dir, const std::string& path,
                               const std::string& from,
                               std::chrono::milliseconds patience = kPatience);

// Errors: not_found (no journal, or no such job in it), busy, system.
Result<msg::DeadChildJob> read_dead_child_job(const std::string& state_dir, std::uint64_t job,
                                              std::chrono::milliseconds patience = kPatience);

// The state directory of the instance `path`, seen from its ancestor `above` at `state_dir`.
// REQUIRES: path is below above.
std::string state_dir_below(const std::string& state_dir, const std::string& above,
                            const std::string& path);

// `holon remains`: writes a DeadChild or a DeadChildJob, packed, to `out`. Returns the exit code.
struct DeadChildOptions {
  std::string state_dir, path, from;
  std::uint64_t job = 0;  // only this one; 0: the records of all
  std::chrono::milliseconds patience = kPatience;
};
int dead_child_main(const DeadChildOptions& options, std::ostream& out);

}  // namespace holon::instance
