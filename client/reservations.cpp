// Advance reservations.
#include "client/client.hpp"
#include "client/parts.hpp"

namespace holon::client {

Result<msg::ReserveReply> Client::reserve(const msg::ReserveRequest& request) {
  return parts_->call<msg::ReserveReply>("reserve", request);
}

Result<msg::ReservationsReply> Client::reservations() {
  return parts_->call<msg::ReservationsReply>("reservations", msg::Empty{});
}

Status Client::unreserve(const msg::UnreserveRequest& request) {
  const auto answer = parts_->call<msg::Empty>("unreserve", request);
  return answer ? Status() : tl::unexpected(answer.error());
}

}  // namespace holon::client
