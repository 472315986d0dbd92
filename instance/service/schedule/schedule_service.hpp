// schedule_service.hpp - the requests about the schedule (msg/schedule.hpp): why jobs wait, the
// plan, the backfill windows.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "instance/basics/clock.hpp"
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/manager/queue_gates.hpp"
#include "instance/resources/reservations.hpp"
#include "msg/schedule.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ScheduleService {
 public:
  struct Uses {
    InstanceClock& clock;
    resource::ResourceStore& store;
    qmanager::Scheduler& scheduler;
    QueueGates& gates;
    JobManager& jobs;
    Reservations& reservations;
    SlicedWork& portions;
    AfterCommit& after_commit;
  };
  ScheduleService(transport::Reactor& reactor, Uses uses) : reactor_(reactor), uses_(uses) {}
  void add_to(transport::Dispatcher& dispatcher);

  // Why what this job holds is late to come back, as a clause; "": it is not.
  std::function<std::string(const ActiveJob& job)> late_word = [](const ActiveJob&) {
    return std::string();
  };
  // The only user whose jobs the sender may look into; nullopt: all users.
  std::function<std::optional<std::string>(const transport::Request&)> viewer_of =
      [](const transport::Request&) { return std::nullopt; };

 private:
  void explain(const transport::Request& request);
  void plan(const transport::Request& request);
  void windows(const transport::Request& request);
  void priority(const transport::Request& request);
  struct Ranking;
  bool rank_some(Ranking& ranking);
  Result<msg::Prioritized> prioritized(JobId id) const;
  Result<msg::Explained> explained(JobId id);
  void add_cause(const ActiveJob& job, msg::Explained& about);
  void add_more_time(const qmanager::Explanation& why, msg::Explained& about) const;
  msg::Obstacle obstacle(JobId id) const;
  msg::Span span(const qmanager::PlannedSpan& planned, bool vertices) const;
  Time now() const { return reactor_.now(); }

  transport::Reactor& reactor_;
  const Uses uses_;
};

}  // namespace holon::instance
