// task_words.hpp - the parts of a graph's task that are its own; it shares the rest of its jobspec
// with others of its batch.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "instance/job/job.hpp"
#include "instance/request/submission.hpp"

namespace holon::instance {

struct TaskWords {
  std::string name;                       // "": that of the jobspec
  std::vector<std::string> command;       // empty: that of the jobspec
  std::vector<std::string> dependencies;  // "afterok:7", behind those of the jobspec

  bool operator==(const TaskWords&) const = default;
};

// The bytes kept in the journal. Errors: protocol (no such bytes).
std::string pack_words(const TaskWords& words);
Result<TaskWords> unpack_words(std::string_view bytes);

// "afterok:7". Errors: invalid_argument.
Result<Dependency> parse_dependency(const std::string& text);
// The task's own jobspec: the shared one with these words. What is no JSON is returned unchanged.
std::string with_words(const std::string& jobspec, const TaskWords& words);
// The task's own submission, likewise. Errors: invalid_argument (a dependency).
Result<Submission> with_words(const Submission& shared, JobId id, const TaskWords& words);

// Inserts the task's dependency-add events, which are not journalled one by one, after `validate`.
void add_dependency_events(std::vector<Event>& events, const TaskWords& words);

}  // namespace holon::instance
