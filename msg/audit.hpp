// audit.hpp - who asked an instance to change something, and whom it refused. Conventions as in
// instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// One request to change something, or one that was refused. Requests that a source is refused again
// and again within a minute have one entry.
struct AuditEntry {
  std::int64_t number = 0;  // ascending, not reused
  std::int64_t time = 0;    // ms, by the wall clock
  std::string user;         // by the kernel's word; "": not known
  std::int64_t uid = -1;    // -1: not known
  std::int64_t pid = 0;     // 0: not known
  bool passed_on = false;   // came through the instance above, which knows the user
  std::string topic;        // of the request
  std::string path;         // of the instance meant, if another one
  std::string what;         // in words: "jobs 7-9"
  std::string refused;      // why; "": it was done
  HOLON_FIELDS(number, time, user, uid, pid, passed_on, topic, path, what, refused)
};

// "audit": the newest entries, the newest first.
struct AuditRequest {
  std::uint64_t limit = 0;  // at most; 0: as many as one answer may have
  std::int64_t before = 0;  // only those with lower numbers; 0: all
  bool refused_only = false;
  HOLON_FIELDS(limit, before, refused_only)
};
struct AuditReply {
  std::vector<AuditEntry> entries;
  bool more = false;  // there are older ones
  HOLON_FIELDS(entries, more)
};

}  // namespace holon::msg
