// graph_plan.hpp - a requested graph, checked and numbered; nothing of it is kept yet.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "instance/job/task_words.hpp"
#include "instance/request/submission.hpp"
#include "msg/graph.hpp"

namespace holon::instance {

struct GraphPlan {
  struct Spec {
    std::string jobspec;  // whole
    std::uint32_t urgency = 16;
    std::shared_ptr<const Submission> submission;
    JobId batch{0};                // the first batch that keeps it in the journal; 0: none yet
    std::optional<Error> refusal;  // why none of its tasks can ever run
    bool was_asked = false;        // the scheduler was asked about one of its tasks
    // Is each of its tasks a batch of its own: an array, or several equal jobs?
    bool is_alone() const { return submission->wishes.array || submission->count > 1; }
    // How many numbers each of its tasks takes.
    std::uint64_t numbers() const { return submission->count + (submission->wishes.array ? 1 : 0); }
  };
  struct Task {
    JobId id;  // the first of its numbers
    std::vector<std::uint32_t> ways;
    std::uint32_t spec = 0;  // the one of `ways` that is taken
    TaskWords words;
    bool is_known = false;  // the scheduler has it
  };
  std::vector<Spec> specs;
  std::vector<Task> tasks;  // ids ascend
  JobId end;                // the number behind that of the last task
  std::string user;

  std::uint64_t numbers() const { return end.value() - tasks.front().id.value(); }
  msg::GraphReply reply() const;
};

// Parses the jobspec of a spec, made whole, and checks all that can be wrong with it.
using ReadSpec =
    std::function<Result<Submission>(const std::string& jobspec, const msg::GraphSpec& asked)>;

// Errors: those of `read`, and invalid_argument; `where` is "specs/2" or "tasks/7". out_of_range:
// the jobspecs are more than 1 GiB with the environment that each of them gets.
// REQUIRES: there are tasks.
Result<GraphPlan> plan_graph(const msg::GraphRequest& request, JobId first, const ReadSpec& read);

}  // namespace holon::instance
