// export.hpp - everything a journal holds, for other programs.
#pragma once
#include <functional>
#include <string>

#include "base/result.hpp"
#include "instance/journal/journal.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

// Takes the contents of a journal, in this order; rows of each kind by their number or path.
struct JournalSink {
  std::function<void(const Batch&)> batch;
  // As kept: `context` is a JSON object.
  std::function<void(JobId first, std::uint64_t count, Time, const std::string& name,
                     const std::string& context)>
      event;
  std::function<void(const msg::JobRecord&)> record;  // of own jobs, then of jobs below
  std::function<void(const HeldGrant&)> grant;
  std::function<void(const ChildGrant&)> child;  // a grant to an instance below
  std::function<void(const KnownAgent&)> agent;
  std::function<void(const KeptDrain&)> drain;
  std::function<void(const ClosedGate&)> gate;
  std::function<void(const KeptReservation&)> reservation;
  std::function<void(const std::string&)> lost;  // what cannot be read, in words
};

// Leaves the files unchanged. Errors: not_found (no journal there), busy (an instance runs on it),
// invalid_argument (nothing of it can be read), system.
Status export_journal(const std::string& state_dir, const JournalSink& sink);

}  // namespace holon::instance
