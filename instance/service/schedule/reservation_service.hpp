// reservation_service.hpp - the requests about advance reservations (msg/reservation.hpp).
#pragma once
#include "instance/basics/clock.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/resources/reservations.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ReservationService {
 public:
  struct Uses {
    InstanceClock& clock;
    resource::ResourceStore& store;
    qmanager::Scheduler& scheduler;
    Reservations& reservations;
    AfterCommit& after_commit;
  };
  ReservationService(transport::Reactor& reactor, Uses uses) : reactor_(reactor), uses_(uses) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void reserve(const transport::Request& request);
  void list(const transport::Request& request);
  void unreserve(const transport::Request& request);

  transport::Reactor& reactor_;
  const Uses uses_;
};

}  // namespace holon::instance
