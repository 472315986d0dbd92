// Meta key "reservations": a msgpack map from number to request; the units held are among the
// journal's allocations, under the same number. Meta key "reservations.last": the highest number
// ever given to one, which no job may get again.
#include "instance/reservations.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "transport/codec.hpp"

namespace holon::instance {
namespace {

constexpr const char* kKey = "reservations";
constexpr const char* kLastKey = "reservations.last";

struct Kept {
  std::map<std::uint64_t, msg::ReserveRequest> requests;
  MSGPACK_DEFINE_MAP(requests)
};

}  // namespace

void Reservations::keep() {
  const auto alive = scheduler_.advances();
  Kept kept;
  for (const auto& [id, request] : known_)
    if (std::any_of(alive.begin(), alive.end(),
                    [&](const auto& a) { return a.request.resources.id == id; }))
      kept.requests.emplace(id.value(), request);
  std::erase_if(known_,
                [&](const auto& item) { return !kept.requests.contains(item.first.value()); });
  journal_.set_meta(kKey, transport::pack(kept));
}

Result<qmanager::AdvanceRequest> Reservations::read(JobId id, const msg::ReserveRequest& request,
                                                    Time now) const {
  auto made = make_submission(request.jobspec, false);
  if (!made) return tl::unexpected(made.error());
  ActiveJob job{id, std::make_shared<const Submission>(std::move(*made)), {}, {}, {}, {}};
  job.life.user = request.user;
  job.life.t_submit = now;
  qmanager::AdvanceRequest advance;
  advance.resources = jobs_.request_of(job);
  advance.when = {std::max(request.begin, now), request.end};
  advance.name = request.name;
  advance.users = request.users;
  return advance;
}

Status Reservations::recover(Time now) {
  const auto last = journal_.meta(kLastKey);
  const auto text = journal_.meta(kKey);
  if (!last) return tl::unexpected(last.error());
  if (!text) return tl::unexpected(text.error());
  if (*last) jobs_.skip_ids(JobId(std::stoull(**last)));
  if (!*text) return {};
  const auto kept = transport::unpack<Kept>(**text);
  if (!kept) return tl::unexpected(kept.error());
  for (const auto& [number, request] : kept->requests) {
    const JobId id(number);
    const auto allocation = journal_.allocation(id);
    if (!allocation) return tl::unexpected(allocation.error());
    if (!*allocation || request.end <= now) continue;
    auto advance = read(id, request, request.begin);
    if (!advance) return tl::unexpected(advance.error());
    advance->when = (*allocation)->when;
    if (auto held = scheduler_.recover_advance(std::move(*advance), **allocation); !held)
      return held;
    known_.emplace(id, request);
  }
  return {};
}

Result<JobId> Reservations::add(const msg::ReserveRequest& request, Time now) {
  if (request.end <= std::max(request.begin, now))
    return fail(Errc::invalid_argument, "it must end after it begins, and after now", "end");
  const JobId id = jobs_.take_id();
  auto advance = read(id, request, now);
  if (!advance) return tl::unexpected(advance.error());
  const auto refused = scheduler_.reserve_ahead(std::move(*advance), now);
  if (!refused) return tl::unexpected(refused.error());
  if (*refused) return fail(Errc::unsatisfiable, (*refused)->reason);
  for (const auto& status : scheduler_.advances())
    if (status.request.resources.id == id) journal_.add_allocation(status.allocation);
  known_.emplace(id, request);
  journal_.set_meta(kLastKey, std::to_string(id.value()));
  keep();
  jobs_.look_again();
  return id;
}

Status Reservations::remove(JobId id, Time now) {
  const auto running = scheduler_.cancel_advance(id, now);
  if (!running) return tl::unexpected(running.error());
  for (const JobId job : *running)
    jobs_.raise(job, "cancel", "its reservation was taken back", now);
  known_.erase(id);
  keep();
  jobs_.look_again();
  return {};
}

std::string Reservations::name_of(JobId id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? std::string() : found->second.name;
}

}  // namespace holon::instance
