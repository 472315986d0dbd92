#include "instance/service/schedule/reservation_service.hpp"

#include <algorithm>
#include <set>

#include "instance/request/placement.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {

using transport::pack;
using transport::Request;
using transport::unpack;

void ReservationService::add_to(transport::Dispatcher& dispatcher) {
  dispatcher.add("reserve", [this](const Request& r) { reserve(r); });
  dispatcher.add("reservations", [this](const Request& r) { list(r); });
  dispatcher.add("unreserve", [this](const Request& r) { unreserve(r); });
}

void ReservationService::reserve(const Request& request) {
  auto ask = unpack<msg::ReserveRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  if (ask->user.empty()) ask->user = transport::user_of(request.principal());
  const auto id = uses_.reservations.add(*ask, reactor_.now());
  if (!id) return request.fail(id.error());
  uses_.after_commit.add(
      [request, id = id->value()] { request.reply(pack(msg::ReserveReply{id})); });
}

void ReservationService::list(const Request& request) {
  constexpr const char* kPhases[] = {"waiting", "active", "ending"};
  msg::ReservationsReply reply;
  const Time lease_end = uses_.store.options().horizon.end;
  for (const auto& status : uses_.scheduler.advances()) {
    const auto& asked = status.request;
    const auto where = summarize(uses_.store.graph(), status.allocation);
    reply.reservations.push_back(
        {asked.resources.id.value(), asked.name, asked.resources.user, asked.users,
         uses_.clock.wall(asked.when.begin), uses_.clock.wall(std::min(asked.when.end, lease_end)),
         kPhases[static_cast<int>(status.phase)], where.nodelist, where.held.nodes,
         where.held.cores, where.held.gpus, static_cast<std::int64_t>(status.pending),
         static_cast<std::int64_t>(status.running)});
  }
  uses_.after_commit.add([request, reply = std::move(reply)] { request.reply(pack(reply)); });
}

void ReservationService::unreserve(const Request& request) {
  const auto ask = unpack<msg::UnreserveRequest>(request.payload());
  if (!ask) return request.fail(ask.error());
  std::set<JobId> ids;
  for (const auto id : ask->ids) ids.insert(JobId(id));
  const auto removed = uses_.reservations.remove({ids.begin(), ids.end()}, reactor_.now());
  if (!removed) return request.fail(removed.error());
  uses_.after_commit.add([request] { request.reply(pack(msg::Empty{})); });
}

}  // namespace holon::instance
