// schedule_service.hpp - the requests about the schedule (msg/schedule.hpp), answered from the
// Core: why jobs wait, the plan, the backfill windows.
#pragma once
#include "instance/core.hpp"
#include "msg/schedule.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ScheduleService {
 public:
  ScheduleService(transport::Reactor& reactor, Core& core) : reactor_(reactor), core_(core) {}
  void add_to(transport::Dispatcher& dispatcher);

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
  msg::Obstacle obstacle(JobId id) const;
  msg::Span span(const qmanager::PlannedSpan& planned, bool vertices) const;
  Time now() const { return reactor_.now(); }

  transport::Reactor& reactor_;
  Core& core_;
};

}  // namespace holon::instance
