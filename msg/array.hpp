// array.hpp - what clients ask of open arrays: more tasks, and their end. Conventions as in
// instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "job.extend": `tasks` more of an array that was submitted open, all or none, or none; then, with
// `close`, no more: it is over with its last task.
struct ExtendRequest {
  std::uint64_t id = 0;  // the array's
  std::uint64_t tasks = 0;
  std::string indices;  // indices of the tasks, an idset above the present ones; "": the next ones
  std::vector<std::string> entries;  // of the tasks, if the array has entries
  bool close = false;
  std::string key;  // as in SubmitRequest, for this array
  HOLON_FIELDS(id, tasks, indices, entries, close, key)
};
struct ExtendReply {
  std::string ids, indices;  // of the new tasks, idsets
  HOLON_FIELDS(ids, indices)
};

}  // namespace holon::msg
