// held.hpp - what the engine holds on a machine, now (allocations) and later (reservations). Both
// are spans of the same plan, so that "does this delay a reservation?" is the same question as "is
// it free?". A call that fails changes nothing.
#pragma once
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "qmanager/machine/values.hpp"
#include "qmanager/request.hpp"
#include "resource/allocation.hpp"
#include "resource/store.hpp"

namespace holon::qmanager {

class HeldOnMachine {
 public:
  using Outcome = resource::MatchOutcome;

  virtual ~HeldOnMachine() = default;

  // ---- a span begins

  // Holds [now, now + length) for the job, or NotNow.
  virtual Outcome start(const JobRequest& job, Time now, Duration length) = 0;
  // Holds the earliest [t, t + length) with t >= not_before, or NotNow when there is none before
  // the horizon. One that begins at `now` is an allocation.
  virtual Outcome reserve(const JobRequest& job, const Wish& wish) = 0;
  // A reservation that begins at `now` becomes an allocation. NotNow: its units are gone.
  virtual Outcome claim(const JobRequest& job, Time now, Duration length) = 0;
  // Holds exactly `when`, which may begin later, for a holder that stays whatever is planned anew.
  virtual Outcome hold_exactly(const JobRequest& job, Interval when, Time now) = 0;
  // Holds a given allocation (recovery).
  virtual Status impose(const JobRequest& job, const resource::Allocation& allocation) = 0;
  // Holds, until when.end, the units of `units` that nobody else holds between `now` and then, and
  // returns the rest: for a job that has used `units` since when.begin and goes on though others
  // have reserved them. REQUIRES: the job holds nothing.
  virtual Units hold_what_is_left(JobId job, const Units& units, Interval when, Time now) = 0;

  // ---- it changes, and ends

  // Chooses the units of a job that starts now again: the same amount over the same time, on the
  // places with the best scores. Nothing changes where there are no places, where no place has a
  // score, and for jobs whose slots are spread by other rules. Returns what the job then holds.
  virtual resource::Allocation place_by(const JobRequest& job, Time now,
                                        const PlaceScore& score) = 0;
  // Moves the end of what the job holds; overcommitted if a later span is in the way.
  virtual Status set_end(JobId job, Time end) = 0;
  // The job's span ends now: the job no longer uses what it holds, though release() is still to
  // come (replay of traces).
  virtual void vacate(JobId job, Time now) = 0;
  // Gives back what the job holds from `now` on. REQUIRES: it holds something.
  virtual void release(JobId job, Time now) = 0;

  // ---- of outsiders

  // Marks the units that belong to this machine as used by an outsider: no job gets them until the
  // next call. Returns the other units. What is held or planned stays.
  virtual Units occupy(Units units) = 0;
};

}  // namespace holon::qmanager
