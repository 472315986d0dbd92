// qos.hpp - what a quality of service grants its jobs (Maui's QOSCFG and QFLAGS), and who shares a
// number of reservations.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "qmanager/site/access.hpp"

namespace holon::qmanager {

struct QosConfig {
  bool reserve_always = false;  // RESERVEALWAYS: a reservation whatever the depth
  bool no_reservation = false;  // NORESERVATION: never one
  bool no_backfill = false;     // NOBF: starts in priority order only
  bool next_to_run = false;     // NTR: before every job that is not
  // Limits that do not hold for the jobs of this QOS, neither for running nor for waiting ones.
  bool ignore_user = false;        // IGNUSER, and IGNALL with the two below
  bool ignore_group = false;       // IGNGROUP
  bool ignore_account = false;     // IGNACCOUNT
  bool ignore_queue = false;       // IGNCLASS
  bool ignore_jobs = false;        // IGNMAXJOB: of any credential
  bool ignore_procs = false;       // IGNMAXPROC
  bool ignore_proc_ticks = false;  // IGNMAXPS
  bool use_reserved = false;       // USERESERVED: runs in advance reservations only
  bool dedicated = false;          // DEDICATED: gets its nodes whole
  AccessList access = {};          // whose jobs may have it (Maui's QLIST, reversed)

  // Sets the flags in "RESERVEALWAYS:NOBF" (also with commas or blanks, in any case). Errors:
  // invalid_argument with what is accepted.
  Status set_flags(std::string_view text);

  bool operator==(const QosConfig&) const = default;
};

// A number of jobs of these QOS that may hold a reservation at a time. A job counts in the first
// bucket that lists its QOS; if none does, it gets no reservation.
struct ReservationBucket {
  std::int64_t depth = 0;        // 0: the bucket is not there
  std::vector<std::string> qos;  // empty: all

  bool lists(const std::string& name) const;
  bool operator==(const ReservationBucket&) const = default;
};

}  // namespace holon::qmanager
