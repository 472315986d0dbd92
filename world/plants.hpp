// plants.hpp - faults planted on purpose, to see that the invariants find them. Each lies in a seam
// and does there what a fault of the code above would do to everybody else.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holon::world {

enum class Plant {
  none,
  lost_commit,
  early_end,
  start_again,
  lost_finish,
  stale_epoch,
  stranger,
  stale_remains,
  forgotten_orphans,
  old_journal,
  long_lease,
  lost_record,
  lost_exit,
  changed_record,
  early_whole,
  stale_listing,
  early_child_end,
  orphans_in_memory,
  forgotten_outage,
  unswept_node,
  forgotten_tasks,
  early_offer,
  start_after_heal,
  wrong_rank,
  forgotten_policy,
  forgotten_wish,
  past_attempt,
  wrong_index,
  forgotten_guest,
  early_leave,
  endless_node,
  one_clock,
  forged_agent,
  silent_disk,
  lost_remains,
  forgotten_rerun,
  told_twice,
  lost_limit,
  lost_stop,
  open_door,
  wrong_user,
  forgotten_own,
  kept_own,
  wrong_own,
  early_idle,
  lost_own_submit,
  empty_listing,
  lost_cancel,
  forgotten_batch,
  submitted_again,
  long_walltime,
  kept_node,
  early_release,
  stale_extend,
  forgotten_loan,
  unproved_fence,
  ignored_fence,
  late_fence,
  long_loan,
};

struct PlantInfo {
  Plant plant;
  const char* name;
  const char* what;
  // The first seed that has found the fault: the suite begins there, to be quick.
  std::uint64_t first_seed = 1;
  int edition = 6;  // the worlds of the time when that seed was found
};
const std::vector<PlantInfo>& all_plants();
std::optional<Plant> plant_named(const std::string& name);

}  // namespace holon::world
