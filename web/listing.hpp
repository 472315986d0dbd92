// listing.hpp - the queue as the page lists it: the words of a filter, the order, one page of it,
// and failures that are alike as one. Pure.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "msg/job_filter.hpp"
#include "web/model.hpp"

namespace holon::web {

struct Filter {
  msg::JobFilter jobs;
  std::string host;                // that they have or had
  std::vector<std::string> words;  // in the path, the name, the command, the reason
  std::int64_t exit_code = -1;     // -1: any

  bool matches(const msg::JobRecord& job) const;
  bool empty() const;
};

// "failed,timeout user:ann queue:gpu name:train* node:n3 exit:1 words": states and results as
// `holon jobs --filter` takes them, several by commas; all of it has to be met. Errors:
// invalid_argument.
Result<Filter> read_filter(const std::string& text);

// In the order of the page: what runs, what waits, then what is over, the latest first.
std::vector<const msg::JobRecord*> in_order(std::vector<const msg::JobRecord*> jobs,
                                            std::size_t first, std::size_t most);

// Is it over, and not as its user wished? Not an array: its tasks may have failed.
bool has_failed(const msg::JobRecord& job);

struct FailureGroup {
  std::string result;  // FAILED, TIMEOUT, REJECTED
  int exit_code = -1;
  std::string line;  // the last one that they wrote, or the reason
  std::uint64_t jobs = 0;
  std::vector<const msg::JobRecord*> newest;  // a few of them
};

// Jobs that failed by result, exit code and last line, the largest group first. `last_line` is
// asked for the newest failures only.
std::vector<FailureGroup> failures_of(
    const std::vector<const msg::JobRecord*>& jobs,
    const std::function<std::string(const msg::JobRecord&)>& last_line);

// The last line of some output that is not blank, at most 160 bytes of it.
std::string last_line_of(const std::string& text);

}  // namespace holon::web
