// graph.hpp - tasks that wait for each other, submitted in one request (docs/protocol.md).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// The part that many tasks of a graph have in common.
struct GraphSpec {
  std::string jobspec;  // as in SubmitRequest; its command stands for those of its tasks
  std::uint64_t count = 1;
  std::uint32_t urgency = 16;
  bool is_instance = false;  // as of SubmitRequest: the commands are `holon start`
  HOLON_FIELDS(jobspec, count, urgency, is_instance)
};

struct GraphAfter {
  std::string scheme;        // afterok, afterany, afternotok, after, afterstart, aftercorr
  std::uint64_t task = 0;    // its place in the list, before this one
  std::string indices = {};  // "3-9": of its tasks, where it is an array; empty: the whole of it
  HOLON_FIELDS(scheme, task, indices)
};

struct GraphTask {
  std::string name;                  // the job's
  std::vector<std::uint32_t> ways;   // places in GraphRequest::specs: the first that can ever run
  std::vector<std::string> command;  // empty: that of its spec
  std::vector<GraphAfter> after;
  HOLON_FIELDS(name, ways, command, after)
};

// "submit.graph": all of the tasks are taken or none is, whatever happens. `where` of an error is
// "tasks/7" for the task at that place.
struct GraphRequest {
  std::vector<GraphSpec> specs;
  std::map<std::string, std::string> environment;  // of the specs that have none
  std::vector<GraphTask> tasks;
  std::string user;
  std::string key;  // as of SubmitRequest
  HOLON_FIELDS(specs, environment, tasks, user, key)
};
struct GraphReply {
  std::vector<std::uint64_t> ids;  // of the tasks, ascending; of several equal jobs the first
  HOLON_FIELDS(ids)
};

}  // namespace holon::msg
