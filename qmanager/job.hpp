// job.hpp - a job inside the scheduler: the request and where it stands.
#pragma once
#include <optional>
#include <string>

#include "base/boxed.hpp"
#include "qmanager/engine/demand.hpp"
#include "qmanager/engine/pending.hpp"
#include "qmanager/lent.hpp"
#include "qmanager/machine/machine.hpp"
#include "qmanager/policy/hooks.hpp"
#include "qmanager/request.hpp"

namespace holon::qmanager {

// Why a pending job is not running. The text is made when somebody asks (reason.cpp).
enum class Why : std::uint8_t {
  not_considered,  // no pass has come to it yet, or the queue depth ends before it
  held,            // urgency 0
  resources,       // what it needs is not free
  reservations,    // it is free now, but reserved for others before this job would end
  reserved,        // it holds a reservation
  blocked,         // no resource that is up can serve it
  limit,           // a throttling limit of one of its credentials
  idle_limit,      // as limit, of jobs that are considered while they wait
  backfill,        // its QOS starts in priority order only
  chunk,           // what is free is kept for larger jobs for a while
  lease,           // it would end after the resources' lease
  policy,          // its queue's policy lets it not overtake those in front
};

// The answers of a user-written policy about a job of its queue.
struct PolicyWord {
  std::optional<Rank> rank;
  Time ranked_at = 0;          // when it gave the rank
  std::string reserve_reason;  // why the job gets a reservation, or none; empty: it did not say
};

// Which pools a job asks for, as a number; 0: none.
using PoolSet = std::uint32_t;

struct Job {
  enum class Place : std::uint8_t { pending, held, aside, running };

  Job() = default;
  Job(std::size_t its_queue, JobRequest&& asked) : queue(its_queue), request(std::move(asked)) {}

  // Kept beside the front of the request, which a pass reads with it for every waiting job.
  std::size_t queue = 0;  // index
  ShapeId shape = 0;
  PoolSet pools = 0;
  Place place = Place::pending;
  Why why = Why::not_considered;
  bool reserved = false;  // a reservation of it is in the plan
  JobId because_of;       // the job in its way, where `why` has one
  std::int64_t procs = 1;

  JobRequest request;
  std::string detail;  // the machine's own words for `why`, where it has some
  OrderKey key;
  Demand demand;

  std::optional<Time> planned;  // the start of its reservation, or of the last it had
  Time started = 0;             // when running
  Time planned_end = 0;         // when running or reserved

  Boxed<LentParts> lent;  // by a running job

  JobId preempted_for;  // it runs, and is to end so that this job can start; 0: it is not
  // Plan::version when no preemptible jobs could make room for the job, and until when that holds.
  std::uint64_t no_room_at = 0;
  Time no_room_until = 0;

  std::int64_t bypassed = 0;  // jobs behind it that were started before it, where that is counted
  std::optional<std::int64_t> fixed_priority;  // set by hand
  Duration uncounted = 0;                      // ticks of waiting that earn no priority ...
  std::optional<Time> uncounted_since;         // ... and since when it earns none

  // Ticks of waiting that earn priority.
  Duration waited(Time now) const {
    const Duration passed = uncounted + (uncounted_since ? distance(*uncounted_since, now) : 0);
    return distance(saturating_add(request.submitted, passed), now);
  }

  Boxed<PolicyWord> policy_word;  // of a queue whose policy was asked about it
  // The rank that the policy gave the job; null: none yet.
  const Rank* rank() const {
    return policy_word && policy_word->rank ? &*policy_word->rank : nullptr;
  }
};

}  // namespace holon::qmanager
