// policy.hpp - what clients ask and change about the policy of a queue while its jobs wait.
// Conventions as in instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "policy.load": the policy decides for the queue from now on. Kept in the journal.
struct PolicyLoadRequest {
  std::string queue;   // empty: the default queue
  std::string policy;  // a built-in one, or the name of a file, "mine.lua" ...
  std::string text;    // ... with its text
  HOLON_FIELDS(queue, policy, text)
};

// "policy.disable": the queue has the policy of its configuration again; where that is one that a
// user wrote, the base of that. Kept in the journal.
struct PolicyDisableRequest {
  std::string queue;  // empty: the default queue
  HOLON_FIELDS(queue)
};
struct PolicyDisableReply {
  std::string queue;
  std::string policy;  // decides now
  HOLON_FIELDS(queue, policy)
};

// "policy.show"
struct PolicyShowRequest {
  std::string queue;  // empty: the default queue
  HOLON_FIELDS(queue)
};
struct PolicyFunction {
  std::string name;
  std::int64_t line = 0;
  HOLON_FIELDS(name, line)
};
struct PolicyShown {
  std::string queue;
  std::string policy;      // of the queue now
  std::string configured;  // of its configuration
  bool set_live = false;   // by policy.load or policy.disable
  // For a user-written policy:
  std::string base, text;
  std::vector<PolicyFunction> functions;
  std::int64_t calls = 0;     // of its functions, since it was loaded or the broker was started
  std::int64_t troubles = 0;  // calls without a valid answer
  std::string trouble;        // the last, with its place
  bool given_up = false;      // the base decides
  std::int64_t kept = 0;      // bytes of its `state` as text
  HOLON_FIELDS(queue, policy, configured, set_live, base, text, functions, calls, troubles, trouble,
               given_up, kept)
};

// "policy.what-if": when waiting jobs would start if the queue had this policy, and when they would
// as it is, if nobody came and everybody took all of his time. Nothing is changed. It is worked out
// for some 60 ms, nearest starts first.
struct WhatIfRequest {
  std::string queue, policy, text;  // as of PolicyLoadRequest
  std::vector<std::uint64_t> ids;   // only these; empty: all that wait
  HOLON_FIELDS(queue, policy, text, ids)
};
struct WhatIfStart {
  std::uint64_t id = 0;
  std::string path, name, user, queue;
  std::int64_t t_now = 0;   // its start as it is; 0: not within what was looked at
  std::int64_t t_then = 0;  // with the policy; the same
  HOLON_FIELDS(id, path, name, user, queue, t_now, t_then)
};
struct WhatIfReply {
  std::string queue;
  std::string policy;  // of the queue now
  std::int64_t now = 0;
  std::vector<WhatIfStart> jobs;  // those that would start at another time, by id
  std::uint64_t same = 0;         // jobs that start at the same time either way
  std::uint64_t unknown = 0;      // jobs that start in neither, as far as was looked
  std::string trouble;            // of the policy, while it was asked
  HOLON_FIELDS(queue, policy, now, jobs, same, unknown, trouble)
};

}  // namespace holon::msg
