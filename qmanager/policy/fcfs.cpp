// First come, first served: jobs start in queue order, and nobody overtakes.
//
// Guarantee: start times are non-decreasing in queue order, as long as priorities do not change. A
// job that is held, or that no resource which is up could serve, steps aside and does not stop the
// others.
#include "qmanager/policy/policy.hpp"

namespace holon::qmanager {

Policy fcfs() {
  return {.name = "fcfs"};
}

}  // namespace holon::qmanager
