// scenario.hpp - scheduling tests as drawings: a list of jobs, and a picture in which a column is a
// unit of time, a row a node, and a letter the job that holds it.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "qmanager/scheduler.hpp"
#include "sim/simulate.hpp"

namespace holon::tests {

struct ScenarioJob {
  char name = '?';
  sim::TraceJob trace;
  qmanager::JobRequest request;
};

// One job a line: name, submit, nodes, limit, runs, then key=value: user, group, account, qos,
// queue, urgency, reserve=no, immediate=yes, preemptible=yes, checkpoints=yes, uses=POOL:AMOUNT,
// each=POOL:AMOUNT (for each slot), slots=RANGE, pe=NAME or pattern. '#' begins a comment.
std::vector<ScenarioJob> parse_jobs(const std::string& text);

struct Scenario {
  int nodes = 1;
  std::vector<ScenarioJob> jobs;
  qmanager::SchedulerConfig config;
  sim::Order order = sim::Order::batch;
};

struct Outcome {
  std::vector<ScenarioJob> jobs;  // with the processors they got
  sim::SimResult result;
  int nodes = 0;

  Time start(std::size_t job) const { return result.jobs[job].start.value(); }
};

// A policy with everything else at its default, but a queue depth without limit.
qmanager::SchedulerConfig policy(const std::string& name);

// Runs it, checking the scheduler's invariants after each pass.
Outcome run(const Scenario& scenario);

// One line a node, "\n      n0 |AAB.|\n". Jobs are drawn on the lowest nodes that are free when
// they start. A job that finds none (no unit may be held twice) is drawn as a line "CONFLICT x".
std::string gantt(const Outcome& outcome);

// `count` jobs on up to `nodes` nodes; some end early. The same seed gives the same jobs.
std::vector<ScenarioJob> random_jobs(unsigned seed, int count, int nodes);

// What `set` changes in the configuration of a policy, and the picture that makes of the jobs.
struct Drawing {
  const char* name;
  std::function<void(qmanager::SchedulerConfig&)> set;
  int nodes;
  const char* jobs;
  const char* want;
};
void expect_drawings(std::span<const Drawing> drawings, const std::string& policy_name);

// A throttling limit, times in ticks: limit(config, "user", "ann", "max-job", "1,2").
void limit(qmanager::SchedulerConfig& config, const char* kind, const char* name, const char* key,
           const char* value);

// Aborts the test unless at every instant the jobs that run have no more nodes than there are.
void expect_nothing_held_twice(const Outcome& outcome);

}  // namespace holon::tests
