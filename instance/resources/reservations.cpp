// The journal keeps requests, even those of cancelled reservations whose jobs have not ended yet;
// the units held are among its allocations, under the same number. The highest number ever given to
// a reservation is kept, too: no job may get it again.
//
// Requests are kept by the wall clock, as people made them; holdings are in instance time. A clock
// that is set does not move a holding, since everything around it is planned for its place; an
// instance that is started again goes by the requests.
//
// A reservation that is over, or cancelled, stays until the scheduler lets it go: its jobs may
// still be in their grace, and a broker that is started then has to hold what they hold.
#include "instance/resources/reservations.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "instance/journal/schema.hpp"

namespace holon::instance {

void Reservations::keep() {
  std::vector<KeptReservation> kept;
  for (const auto& advance : scheduler_.advances()) {
    const JobId id = advance.request.resources.id;
    if (const auto known = known_.find(id); known != known_.end())
      kept.push_back({id, known->second, cancelled_.contains(id)});
  }
  known_.clear();
  cancelled_.clear();
  for (const auto& one : kept) {
    known_.emplace(one.id, one.request);
    if (one.cancelled) cancelled_.insert(one.id);
  }
  journal_.put_reservations(kept);
}

Result<qmanager::AdvanceRequest> Reservations::read(JobId id, const msg::ReserveRequest& request,
                                                    Time now) const {
  auto made = make_submission(request.jobspec, false);
  if (!made) return tl::unexpected(made.error());
  ActiveJob job{id, std::make_shared<const Submission>(std::move(*made)), {}, {}};
  job.life.user = request.user;
  job.life.t_submit = now;
  qmanager::AdvanceRequest advance;
  advance.resources = jobs_.request_of(job);
  const InstanceClock& clock = jobs_.clock();
  advance.when = {std::max(clock.instance(request.begin), now), clock.instance(request.end)};
  advance.name = request.name;
  advance.users = request.users;
  return advance;
}

Status Reservations::recover(Time now, bool fresh) {
  const auto last = journal_.number(kLastReservation);
  const auto kept = journal_.reservations();
  if (!last) return tl::unexpected(last.error());
  if (!kept) return tl::unexpected(kept.error());
  if (*last) jobs_.skip_ids(JobId(static_cast<std::uint64_t>(**last)));
  for (const auto& [id, request, is_cancelled] : *kept) {
    if (!fresh) {
      if (auto held = hold_again(id, request, is_cancelled, now); !held)
        if (auto lost = lose(id, held.error()); !lost) return lost;
    } else if (!is_cancelled && jobs_.clock().instance(request.end) > now) {
      if (auto made = reserve(id, request, now); !made)
        spdlog::warn(fmt::format("advance reservation {} could not be made again: {}", id.value(),
                                 to_string(made.error())));
    }
  }
  if (fresh && !kept->empty()) keep();
  return {};
}

// A damaged journal is repaired before another broker begins on it: what makes no sense even then
// is given up.
Status Reservations::lose(JobId id, const Error& why) {
  if (why.code == Errc::system) return tl::unexpected(why);
  const std::string words = fmt::format("advance reservation {}: {}", id.value(), to_string(why));
  if (!journal_.rebuilt()) return tl::unexpected(journal_.condemn({why.code, words, {}}));
  spdlog::error("given up: " + words);
  return {};
}

// Holds the same units as before: the reservation's jobs run on them.
Status Reservations::hold_again(JobId id, const msg::ReserveRequest& request, bool is_cancelled,
                                Time now) {
  const auto allocation = journal_.allocation(id);
  if (!allocation) return tl::unexpected(allocation.error());
  if (!*allocation) return {};
  auto advance = read(id, request, (*allocation)->when.begin);
  if (!advance) return tl::unexpected(advance.error());
  advance->when = (*allocation)->when;
  if (auto held = scheduler_.recover_advance(std::move(*advance), **allocation); !held) return held;
  known_.emplace(id, request);
  if (!is_cancelled) return {};
  cancelled_.insert(id);
  const auto taken_back = scheduler_.cancel_advance(id, now);
  return taken_back ? Status() : tl::unexpected(taken_back.error());
}

Status Reservations::reserve(JobId id, const msg::ReserveRequest& request, Time now) {
  auto advance = read(id, request, now);
  if (!advance) return tl::unexpected(advance.error());
  const auto made = scheduler_.reserve_ahead(std::move(*advance), now);
  if (!made) return tl::unexpected(made.error());
  jobs_.carry_out(made->decisions, now);
  if (made->refused) return fail(Errc::unsatisfiable, made->refused->reason);
  for (const auto& status : scheduler_.advances())
    if (status.request.resources.id == id) journal_.add_allocation(status.allocation);
  known_.emplace(id, request);
  return {};
}

Result<JobId> Reservations::add(const msg::ReserveRequest& request, Time now) {
  if (request.end <= std::max(request.begin, jobs_.clock().wall(now)))
    return fail(Errc::invalid_argument, "it must end after it begins, and after now", "end");
  if (jobs_.is_paused())
    return fail(Errc::busy, "this instance is ending and makes no reservations");
  const JobId id = jobs_.next_id();
  if (auto made = reserve(id, request, now); !made) return tl::unexpected(made.error());
  jobs_.skip_ids(id);
  const auto number = static_cast<std::int64_t>(id.value());
  journal_.set_number(kLastReservation, number);
  journal_.set_number(kReservationNumber + std::to_string(number), number);
  keep();
  jobs_.look_again();
  return id;
}

bool Reservations::is_there(JobId id, Time now) const {
  if (!known_.contains(id) || cancelled_.contains(id)) return false;
  const auto held = journal_.allocation(id);
  return held && *held && now < (*held)->when.end;
}

Status Reservations::remove(const std::vector<JobId>& ids, Time now) {
  for (const JobId id : ids)
    if (!is_there(id, now))
      return fail(Errc::not_found, fmt::format("there is no advance reservation {}", id.value()));
  for (const JobId id : ids) {
    const auto running = scheduler_.cancel_advance(id, now);
    if (!running) return tl::unexpected(running.error());
    cancelled_.insert(id);
    for (const JobId job : *running)
      jobs_.raise(job, "cancel", "its reservation was taken back", now);
  }
  keep();
  jobs_.look_again();
  return {};
}

void Reservations::lease_ends(Time end, Time now) {
  std::vector<JobId> never;
  for (const auto& advance : scheduler_.advances())
    if (const JobId id = advance.request.resources.id;
        advance.request.when.begin >= end && is_there(id, now))
      never.push_back(id);
  if (never.empty() || !remove(never, now)) return;
  for (const JobId id : never)
    spdlog::warn(
        fmt::format("advance reservation {} is taken back: it would begin after the end "
                    "of this instance, which is earlier now",
                    id.value()));
}

std::string Reservations::name_of(JobId id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? std::string() : found->second.name;
}

}  // namespace holon::instance
