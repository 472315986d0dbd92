// Two policies of one's own in C++, the same as docs/examples/policies/shortest-first.lua and
// night-and-day.lua, and what they make of three jobs on ten processors.
#include <cstdio>
#include <memory>
#include <string>

#include "qmanager/job.hpp"
#include "qmanager/machine/flat_machine.hpp"
#include "qmanager/policy/hooks.hpp"
#include "sim/simulate.hpp"

using namespace holon;
using qmanager::Hook;

namespace {

constexpr double kDay = 24 * 3600;

double seconds(Duration ticks, std::int64_t ticks_per_second) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_per_second);
}

// What both leave to the base policy.
class OwnPolicy : public qmanager::PolicyHooks {
 public:
  bool has(Hook hook) const override { return hook == Hook::priority; }
  void begin_pass(Time, std::size_t) override {}
  qmanager::Opinion ask(Hook, const qmanager::JobView&, const qmanager::QueueView&) override {
    return {};
  }
  void on_event(std::string_view, const qmanager::JobView&, const qmanager::QueueView&) override {}
  qmanager::HookStatus status() const override { return {.base = "easy"}; }
};

// Short jobs first; who has waited for a day goes before all of them.
class ShortestFirst : public OwnPolicy {
 public:
  qmanager::Rank rank(const qmanager::JobView& view, const qmanager::QueueView&) override {
    const double waited = seconds(view.job.waited(view.now), view.ticks_per_second);
    if (waited > kDay) return {waited, "it has waited for more than a day"};
    return {-seconds(view.limit, view.ticks_per_second), ""};
  }
  std::unique_ptr<PolicyHooks> twin() const override { return std::make_unique<ShortestFirst>(); }
};

// Wide jobs at night; by day they get no reservation.
class NightAndDay : public OwnPolicy {
 public:
  bool has(Hook hook) const override { return hook == Hook::priority || hook == Hook::may_reserve; }
  qmanager::Rank rank(const qmanager::JobView& view, const qmanager::QueueView& queue) override {
    return {is_wide(view, queue) == is_night(queue) ? 1.0 : 0.0, ""};
  }
  qmanager::Opinion ask(Hook, const qmanager::JobView& view,
                        const qmanager::QueueView& queue) override {
    if (is_wide(view, queue) && !is_night(queue)) return {false, ""};
    return {};
  }
  std::unique_ptr<PolicyHooks> twin() const override { return std::make_unique<NightAndDay>(); }

 private:
  static bool is_night(const qmanager::QueueView& queue) {
    const std::int64_t hour = queue.second_of_day() / 3600;
    return hour >= 20 || hour < 7;
  }
  static bool is_wide(const qmanager::JobView& view, const qmanager::QueueView& queue) {
    return view.job.procs * 2 > queue.procs();
  }
};

template <class Policy>
class Program : public qmanager::PolicyProgram {
 public:
  const std::string& base() const override { return base_; }
  std::unique_ptr<qmanager::PolicyHooks> hooks() const override {
    return std::make_unique<Policy>();
  }

 private:
  std::string base_ = "easy";
};

sim::TraceJob job(std::int64_t id, Time submit, std::int64_t procs, Duration limit) {
  sim::TraceJob made;
  made.id = id;
  made.submit = submit;
  made.procs = procs;
  made.limit = made.run = limit;
  return made;
}

// The policy is known to the configuration by a name that ends as those of files do.
template <class Policy>
bool show(const char* name) {
  const Time noon = 12 * 3600;
  const sim::Workload workload{{job(1, noon, 8, 600), job(2, noon + 1, 8, 3600),
                                job(3, noon + 2, 4, 300), job(4, noon + 3, 4, 1200)},
                               10,
                               {}};
  sim::SimOptions options;
  options.config.programs["own.lua"] = std::make_shared<const Program<Policy>>();
  options.config.defaults.policy = "own.lua";
  options.config.priority.ticks_per_second = 1;
  options.config.priority.interval = 60;
  const auto result = sim::simulate(workload, std::make_unique<qmanager::FlatMachine>(10), options);
  if (!result) {
    std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
    return false;
  }
  std::printf("%s:", name);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    std::printf(" job %d after %d s;", static_cast<int>(workload.jobs[i].id),
                static_cast<int>(*result->jobs[i].start - workload.jobs[i].submit));
  std::printf("\n");
  return true;
}

}  // namespace

int main() {
  return show<ShortestFirst>("shortest first") && show<NightAndDay>("night and day") ? 0 : 1;
}
