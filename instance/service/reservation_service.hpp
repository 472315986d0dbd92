// reservation_service.hpp - the requests about advance reservations (msg/reservation.hpp).
#pragma once
#include "instance/core.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ReservationService {
 public:
  ReservationService(transport::Reactor& reactor, Core& core) : reactor_(reactor), core_(core) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void reserve(const transport::Request& request);
  void list(const transport::Request& request);
  void unreserve(const transport::Request& request);

  transport::Reactor& reactor_;
  Core& core_;
};

}  // namespace holon::instance
