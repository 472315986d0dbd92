// task_words.hpp - what a task of a graph has for itself: its jobspec and the rest it shares with
// others of its batch.
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

// As the journal has it. Errors: protocol (not such bytes).
std::string pack_words(const TaskWords& words);
Result<TaskWords> unpack_words(std::string_view bytes);

// "afterok:7". Errors: invalid_argument.
Result<Dependency> parse_dependency(const std::string& text);
// The jobspec of a task with such words. A jobspec that is no JSON stays as it is.
std::string with_words(const std::string& jobspec, const TaskWords& words);
// The same of what was read out of it. Errors: invalid_argument (a dependency).
Result<Submission> with_words(const Submission& shared, JobId id, const TaskWords& words);

// The task's dependency-add events, which were not written for each, behind its validation.
void add_dependency_events(std::vector<Event>& events, const TaskWords& words);

}  // namespace holon::instance
