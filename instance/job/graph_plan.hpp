// graph_plan.hpp - a requested graph, read and checked in portions; nothing of it is kept yet.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
    std::uint64_t offset = 0;  // of the first of its numbers from that of the graph
    std::uint32_t spec = 0;    // the one of its ways that is taken
  };
  msg::GraphRequest request;
  std::vector<Spec> specs;
  std::vector<Task> tasks;    // offsets ascend
  std::uint64_t numbers = 0;  // that all of the tasks take
  JobId first{0};             // the graph's first number, once it is known

  JobId id_of(std::size_t place) const { return JobId(first.value() + tasks[place].offset); }
  TaskWords words_of(std::size_t place) const;
  msg::GraphReply reply() const;
  std::vector<std::uint32_t> taken_ways() const;  // of each task
};

// Parses the jobspec of a spec, made whole, and checks all that can be wrong with it.
using ReadSpec =
    std::function<Result<Submission>(const std::string& jobspec, const msg::GraphSpec& asked)>;

// Makes a plan of a request, some specs or tasks at a time.
class GraphReader {
 public:
  // `packed` is the request, and must outlive the reader. `kept_ways`: those that its tasks took as
  // it was checked before; empty: it was not. Errors: protocol.
  static Result<GraphReader> begin(std::string_view packed,
                                   std::vector<std::uint32_t> kept_ways = {});

  // Reads one portion, in a few milliseconds if no jobspec is larger than 64 KiB and no task waits
  // for more than 2,000. False: all is read. Errors: those of `read`, protocol and
  // invalid_argument; `where` is "specs/2" or "tasks/7". out_of_range: the jobspecs are more than 1
  // GiB with the environment that each of them gets.
  Result<bool> read_some(const ReadSpec& read);
  bool is_read() const { return plan_.tasks.size() == count_; }
  std::size_t count() const { return count_; }  // of tasks
  // Bytes of all jobspecs, with the environment that each of them gets.
  std::uint64_t bytes_of_specs() const;
  // The request's tasks are those that were read so far.
  GraphPlan& plan() { return plan_; }
  const GraphPlan& plan() const { return plan_; }

 private:
  GraphReader() = default;
  Status read_spec(const ReadSpec& read);
  Status read_task();

  GraphPlan plan_;
  std::string_view elements_;  // the tasks that were not read yet, packed
  std::size_t count_ = 0;
  std::vector<std::uint32_t> kept_ways_;
  std::optional<std::uint64_t> environment_;  // bytes of it; nullopt: nothing was read yet
};

}  // namespace holon::instance
