// answers.hpp - what the page asks for, as JSON, and the figures for a monitoring system. Pure: a
// model and a question in, a text out.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.hpp"
#include "web/listing.hpp"
#include "web/pixels.hpp"

namespace holon::web {

// What a viewer of the instance at `at` is told: all instances that have changed since the version
// `since`, 0: all there are.
struct StateQuestion {
  std::string at;
  std::uint64_t since = 0;
  bool may_write = false;
  Time now = 0;
};
std::string state_json(const Model& model, const StateQuestion& question);

// The picture of time; and the keys of a request for it.
struct TimeQuestion {
  std::string at;
  Window window;
  RowsBy rows = RowsBy::nodes;
  ColourBy colour = ColourBy::result;
  std::string filter;
  Time now = 0;
};
// Errors: invalid_argument.
Result<TimeQuestion> read_time_question(const std::map<std::string, std::string>& query, Time now);
Result<std::string> time_json(const Model& model, const TimeQuestion& question);

struct ListQuestion {
  std::string at, filter;
  std::size_t first = 0, most = 100;
};
// Errors: invalid_argument (the filter).
Result<std::string> list_json(const Model& model, const ListQuestion& question);
// Errors: invalid_argument (the filter).
Result<std::string> failures_json(
    const Model& model, const ListQuestion& question,
    const std::function<std::string(const msg::JobRecord&)>& last_line);
// A node: its state, and the jobs that run there. Errors: not_found.
Result<std::string> node_json(const Model& model, const std::string& at, const std::string& host);

// What the instance at `at` holds from above, what it has given on, and the history of both.
// Errors: not_found.
Result<std::string> grants_json(const Model& model, const std::string& at);

// `asked`: requests that the server of the page has sent to brokers.
// OpenMetrics text (https://prometheus.io/docs/specs/om/), with Slurm's names where it has them.
std::string metrics_text(const Model& model, std::uint64_t asked);

// {"error": "..."}
std::string error_json(const Error& error);

}  // namespace holon::web
