// The scheduler as a function: events and the time go in, decisions come out. No clock, no process.
//
// Three jobs on four cores under EASY: the second has to wait, the third fits in front of it.
#include <cstdio>
#include <memory>
#include <string>
#include <variant>

#include "qmanager/scheduler.hpp"
#include "resource/formats/readers.hpp"
#include "resource/jobspec/jobspec.hpp"
#include "resource/store.hpp"

using namespace holon;

namespace {

qmanager::JobRequest job(std::uint64_t id, std::int64_t cores, Duration limit) {
  resource::JobShape shape;
  shape.tasks = cores;
  qmanager::JobRequest request;
  request.id = JobId{id};
  request.limit = limit;
  request.spec = std::make_shared<const resource::Jobspec>(resource::jobspec_for(shape).value());
  return request;
}

void print(Time now, const qmanager::Decision& decision) {
  if (const auto* start = std::get_if<qmanager::Start>(&decision))
    std::printf("%4d: job %d starts%s\n", static_cast<int>(now),
                static_cast<int>(start->job.value()),
                start->selection == qmanager::Selection::backfill ? " (backfilled)" : "");
  if (const auto* plan = std::get_if<qmanager::Reserve>(&decision))
    std::printf("%4d: job %d is planned for %d\n", static_cast<int>(now),
                static_cast<int>(plan->job.value()), static_cast<int>(plan->when));
}

}  // namespace

int main() {
  auto store = resource::ResourceStore::load(resource::read_shape("node=1/core=4").value(), {});
  qmanager::SchedulerConfig config;
  config.defaults.policy = "easy";
  auto scheduler = qmanager::Scheduler::create(config, store.value());
  if (!scheduler) {
    std::fprintf(stderr, "%s\n", to_string(scheduler.error()).c_str());
    return 1;
  }
  const auto pass = [&](Time now) {
    for (const auto& decision : scheduler->step(now).decisions) print(now, decision);
  };

  for (const auto& request : {job(1, 3, 100), job(2, 4, 50), job(3, 1, 90)})
    if (const auto refused = scheduler->submit(request, 0); !refused || refused->has_value())
      return 1;
  pass(0);
  if (!scheduler->finish(JobId{3}, 90)) return 1;
  if (!scheduler->finish(JobId{1}, 95)) return 1;  // earlier than its limit
  pass(95);
}
