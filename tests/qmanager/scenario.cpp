#include "scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "qmanager/machine/flat_machine.hpp"

namespace holon::tests {

namespace {

void set_field(ScenarioJob& job, const std::string& key, const std::string& value) {
  qmanager::JobRequest& request = job.request;
  if (key == "user")
    request.user = value;
  else if (key == "group")
    request.group = value;
  else if (key == "account")
    request.account = value;
  else if (key == "qos")
    request.qos = value;
  else if (key == "queue")
    request.queue = value;
  else if (key == "urgency")
    request.urgency = static_cast<std::uint32_t>(std::stoul(value));
  else if (key == "reserve")
    request.reserve = value == "yes";
  else if (key == "immediate")
    request.immediate = value == "yes";
  else if (key == "preemptible")
    request.preemptible = value == "yes";
  else if (key == "checkpoints")
    request.checkpoints = value == "yes";
  else if (key == "slots")
    request.slots = resource::parse_count(value).value();
  else if (key == "pe")
    request.environment = value;
  else if (key == "each")
    request.consumes.push_back(
        {value.substr(0, value.find(':')), std::stoll(value.substr(value.find(':') + 1)), true});
  else if (key == "uses")
    request.consumes.push_back(
        {value.substr(0, value.find(':')), std::stoll(value.substr(value.find(':') + 1))});
  else
    ADD_FAILURE() << "no such field: " << key;
}

}  // namespace

std::vector<ScenarioJob> parse_jobs(const std::string& text) {
  std::vector<ScenarioJob> jobs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    ScenarioJob job;
    if (!(words >> job.name >> job.trace.submit >> job.trace.procs >> job.trace.limit >>
          job.trace.run))
      continue;
    job.trace.id = static_cast<std::int64_t>(jobs.size()) + 1;
    job.request = sim::flat_request(job.trace);
    for (std::string extra; words >> extra;)
      set_field(job, extra.substr(0, extra.find('=')), extra.substr(extra.find('=') + 1));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

qmanager::SchedulerConfig policy(const std::string& name) {
  qmanager::SchedulerConfig config;
  config.defaults.policy = name;
  config.defaults.queue_depth = 1'000'000;
  return config;
}

Outcome run(const Scenario& scenario) {
  sim::Workload workload;
  for (const ScenarioJob& job : scenario.jobs) workload.jobs.push_back(job.trace);
  sim::SimOptions options;
  options.config = scenario.config;
  options.order = scenario.order;
  options.check_invariants = true;
  const auto request_of = [&](const sim::TraceJob& job) {
    return scenario.jobs[static_cast<std::size_t>(job.id) - 1].request;
  };
  std::vector<ScenarioJob> jobs = scenario.jobs;
  options.watch = [&](Time, qmanager::Scheduler&, const qmanager::StepResult& step) {
    for (const qmanager::Decision& decision : step.decisions)
      if (const auto* start = std::get_if<qmanager::Start>(&decision))
        jobs[start->job.value() - 1].trace.procs = start->allocation.shares.front().amount;
  };
  auto result = sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(scenario.nodes),
                              options, request_of);
  EXPECT_TRUE(result) << to_string(result.error());
  return {std::move(jobs), std::move(*result), scenario.nodes};
}

std::string gantt(const Outcome& outcome) {
  std::vector<std::string> rows(static_cast<std::size_t>(outcome.nodes));
  std::string conflicts;
  std::vector<std::pair<Interval, std::size_t>> runs;
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    for (const Interval& lost : outcome.result.jobs[i].lost) runs.emplace_back(lost, i);
    if (outcome.result.jobs[i].start)
      runs.push_back({{outcome.start(i), outcome.start(i) + outcome.jobs[i].trace.run}, i});
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  for (const auto& [when, i] : runs) {
    const ScenarioJob& job = outcome.jobs[i];
    const auto begin = static_cast<std::size_t>(when.begin);
    std::int64_t missing = job.trace.procs;
    for (std::string& row : rows) {
      if (missing == 0) break;
      if (row.size() > begin) continue;
      row.resize(begin, '.');
      row.append(static_cast<std::size_t>(when.length()), job.name);
      --missing;
    }
    if (missing != 0) conflicts += std::string("      CONFLICT ") + job.name + "\n";
  }
  std::size_t width = 0;
  for (const std::string& row : rows) width = std::max(width, row.size());
  std::string picture = "\n";
  for (std::size_t n = 0; n < rows.size(); ++n) {
    rows[n].resize(width, '.');
    picture += "      n" + std::to_string(n) + " |" + rows[n] + "|\n";
  }
  return picture + conflicts;
}

void expect_drawings(std::span<const Drawing> drawings, const std::string& policy_name) {
  for (const Drawing& drawing : drawings) {
    SCOPED_TRACE(drawing.name);
    qmanager::SchedulerConfig config = policy(policy_name);
    drawing.set(config);
    EXPECT_EQ(gantt(run({.nodes = drawing.nodes,
                         .jobs = parse_jobs(drawing.jobs),
                         .config = std::move(config)})),
              drawing.want);
  }
}

void limit(qmanager::SchedulerConfig& config, const char* kind, const char* name, const char* key,
           const char* value) {
  ASSERT_TRUE(config.limits.set(std::string(kind) + "." + name, key, value, 1));
}

std::vector<ScenarioJob> random_jobs(unsigned seed, int count, int nodes) {
  std::mt19937 random(seed);
  const auto up_to = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  std::vector<ScenarioJob> jobs;
  Time submit = 0;
  for (int i = 0; i < count; ++i) {
    submit += up_to(4) == 0 ? up_to(6) : 0;
    ScenarioJob job;
    job.name = static_cast<char>('A' + i % 26);
    const Duration limit = 1 + up_to(9);
    job.trace = {.id = i + 1,
                 .submit = submit,
                 .procs = 1 + up_to(nodes),
                 .limit = limit,
                 .run = up_to(3) == 0 ? 1 + up_to(static_cast<int>(limit)) : limit,
                 .user = {},
                 .group = {},
                 .queue = {}};
    job.request = sim::flat_request(job.trace);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void expect_nothing_held_twice(const Outcome& outcome) {
  std::map<Time, std::int64_t> change;
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    if (!outcome.result.jobs[i].start) continue;
    ASSERT_GE(outcome.start(i), outcome.jobs[i].trace.submit)
        << outcome.jobs[i].name << " started before it was submitted";
    change[outcome.start(i)] += outcome.jobs[i].trace.procs;
    change[outcome.start(i) + outcome.jobs[i].trace.run] -= outcome.jobs[i].trace.procs;
  }
  std::int64_t held = 0;
  for (const auto& [when, by] : change) {
    held += by;
    ASSERT_LE(held, outcome.nodes) << "more is held than there is, at " << when;
  }
}

}  // namespace holon::tests
