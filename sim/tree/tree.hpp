// tree.hpp - a tree of instances, each with a scheduler of its own, and jobs that are dealt to
// them.
//
// Every instance owns processors. An elastic one may lend those that it has no use for and borrow
// from others:
//
// - An instance to which no jobs are dealt (a pool) gives what is idle without an end, to who has
//   work for it, and has it back as soon as there is none.
// - Any other lends to a named job that can start now and whose limit ends before the lender's plan
//   needs the processors: a loan is a backfill job of the lender. It is back when that job ends.
//
// So no running job is ended by a return (elastic = plan). With eager, an owner whose first job
// waits also recalls what preemptible jobs of others have, after the notice.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/metrics.hpp"
#include "sim/simulate.hpp"
#include "sim/study.hpp"

namespace holon::sim {

enum class Elastic : std::uint8_t { off, plan, eager };

struct TreeInstance {
  std::string name{};
  std::optional<std::size_t> parent{};  // its place, before its own; nullopt: the root
  std::int64_t owned = 0;               // processors
  Elastic elastic = Elastic::off;
  std::int64_t min = 0;               // kept though idle: it lends none of these
  std::optional<std::int64_t> max{};  // nullopt: all that there are
  double weight = 1;
  std::vector<std::string> conf{};     // KEY=VALUE, as --conf takes it
  qmanager::SchedulerConfig config{};  // what `conf` makes of the configuration, in ticks
};

enum class RouteBy : std::uint8_t { load, user, queue, file };

struct Route {
  RouteBy by = RouteBy::load;
  std::vector<std::size_t> to{};  // instances that get jobs
  // by user, queue: whose jobs go where, else by turns as new names come. by file: by the job's id.
  std::map<std::string, std::size_t> named{};
};

// In ticks of the workload.
struct TreeCosts {
  Duration message = 0;      // a level, one way
  Duration launch = 0;       // of a job: its processors are held so long before it runs
  Duration agent_start = 0;  // until processors that came can be used
  Duration notice = 0;       // a loan ends so long after the limit of its job
};

struct TreePlan {
  std::vector<TreeInstance> instances{};
  Route route;
  TreeCosts costs;
};

struct LoanRecord {
  std::size_t lender = 0, taker = 0;
  std::int64_t procs = 0;
  Time from = 0, to = 0;
};

struct TreeResult {
  SimResult whole;                      // by job of the workload
  std::vector<std::size_t> dealt_to{};  // by job: its instance
  std::vector<LoanRecord> moves{};      // in the order in which they began
  std::int64_t moved_units = 0;
  std::int64_t ended_by_return = 0;  // jobs
  std::int64_t in_flight = 0;        // processors x ticks between two instances
  std::vector<Duration> regret{};    // by job that ran: so much later than had nobody lent anything
};

// Deals the jobs: by job of the workload, its instance. The same input gives the same outcome.
std::vector<std::size_t> deal(const Workload& workload, const Route& route);

// Plays the workload. REQUIRES: options.order is batch, and no job waits for a preceding one.
// Errors: invalid_argument from a configuration.
Result<TreeResult> simulate_tree(const Workload& workload, const TreePlan& plan,
                                 const SimOptions& options);

// What only the jobs of one instance were like.
Metrics measure_instance(const Workload& workload, const TreeResult& result, std::size_t instance,
                         std::int64_t procs);

std::int64_t processors_of(const TreePlan& plan);

// ---- TREE.toml

// Errors: invalid_argument with the place.
Result<TreePlan> read_tree(const std::string& text, const std::string& file,
                           std::int64_t ticks_per_second);

// ---- for people and programs

std::string tree_table(const Workload& workload, const TreePlan& plan, const TreeResult& result);
std::string tree_json(const Workload& workload, const TreePlan& plan, const TreeResult& result);
// The figures of the whole tree ("all"), then those of the instances that got jobs.
std::vector<PolicyRun> tree_runs(const Workload& workload, const TreePlan& plan,
                                 const TreeResult& result);

}  // namespace holon::sim
