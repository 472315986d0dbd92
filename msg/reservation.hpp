// reservation.hpp - advance reservations: resources held over an interval for the jobs
// that name it. Conventions as in instance.hpp; docs/protocol.md is the description for others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "transport/codec/fields.hpp"

namespace holon::msg {

// "reserve": granted or refused (Errc::unsatisfiable) at once.
struct ReserveRequest {
  std::string jobspec;     // as of a job; only what it asks of resources counts
  std::int64_t begin = 0;  // 0, or gone by: now
  std::int64_t end = 0;
  std::string name;
  std::string user;                // its owner
  std::vector<std::string> users;  // those who may use it beside the owner; "*": everybody
  HOLON_FIELDS(jobspec, begin, end, name, user, users)
};
struct ReserveReply {
  std::uint64_t id = 0;  // from the same numbers as jobs
  HOLON_FIELDS(id)
};

// "reservations"
struct Reservation {
  std::uint64_t id = 0;
  std::string name, user;
  std::vector<std::string> users;
  std::int64_t begin = 0, end = 0;
  std::string phase;  // waiting, active, ending: before, in, past its interval
  std::string nodelist;
  std::int64_t nodes = 0, cores = 0, gpus = 0;
  std::int64_t pending = 0, running = 0;  // jobs in it
  HOLON_FIELDS(id, name, user, users, begin, end, phase, nodelist, nodes, cores, gpus, pending,
               running)
};
struct ReservationsReply {
  std::vector<Reservation> reservations;  // by id
  HOLON_FIELDS(reservations)
};

// "unreserve": jobs that run in them are cancelled, those that wait for them fail.
struct UnreserveRequest {
  std::vector<std::uint64_t> ids;
  HOLON_FIELDS(ids)
};

}  // namespace holon::msg
