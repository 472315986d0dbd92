#include "world/plants.hpp"

namespace holon::world {

const std::vector<PlantInfo>& all_plants() {
  static const std::vector<PlantInfo> kPlants = {
      {Plant::lost_commit, "lost-commit",
       "what a broker committed last is gone when it is killed: an acknowledged submit too"},
      {Plant::early_end, "early-end",
       "a task's end is told while it still runs: its cores are free too soon"},
      {Plant::start_again, "start-again",
       "a start is sent once more to an agent that takes another's place"},
      {Plant::lost_finish, "lost-finish", "an agent's report is acknowledged and thrown away"},
      {Plant::stale_epoch, "stale-epoch", "whoever shows an old epoch is taken for the child"},
      {Plant::stranger, "stranger", "a process that is none of the job is taken for the child"},
      {Plant::stale_remains, "stale-remains",
       "of a child that is gone an older state of its journal is read"},
      {Plant::forgotten_orphans, "forgotten-orphans",
       "the list of processes that a lost agent left is forgotten"},
      {Plant::old_journal, "old-journal",
       "a broker that starts again finds its journal as it was some time ago"},
      {Plant::long_lease, "long-lease", "a child is told a longer lease than its parent keeps"},
      {Plant::lost_record, "lost-record", "a child's records are acknowledged and thrown away"},
      {Plant::lost_exit, "lost-exit", "the end of a task is never noticed"},
      {Plant::early_whole, "early-whole",
       "a job is taken to be over when one of its parts is: its end is told for the others, too"},
      {Plant::changed_record, "changed-record",
       "a child's record of a job that is over says something else when it arrives"},
      {Plant::stale_listing, "stale-listing", "a listing is what the one before it was"},
      {Plant::early_child_end, "early-child-end",
       "a child's end is told as it begins to end: its grant is free too soon"},
      {Plant::orphans_in_memory, "orphans-in-memory",
       "the list of processes that a lost agent left is gone with the broker that kept it"},
      {Plant::forgotten_outage, "forgotten-outage",
       "which nodes are down is gone with the broker that knew it"},
      {Plant::unswept_node, "unswept-node",
       "an agent on another host says that what earlier ones left there is gone, and has not "
       "looked"},
      {Plant::forgotten_tasks, "forgotten-tasks",
       "an agent on another host that comes back says nothing of what it runs"},
      {Plant::early_offer, "early-offer",
       "the node of a host that is cut off is offered again before anybody has looked there"},
      {Plant::start_after_heal, "start-after-heal",
       "an agent on another host that comes back is sent its last start again"},
      {Plant::wrong_rank, "wrong-rank",
       "keys are not looked at, and an agent is taken for that of another host"},
      {Plant::forgotten_policy, "forgotten-policy",
       "which policy was loaded is gone with the broker that was told"},
      {Plant::forgotten_wish, "forgotten-wish", "a job that was to run again when it fails is not"},
      {Plant::past_attempt, "past-attempt",
       "the end of an attempt that is over is told as that of the one that runs"},
      {Plant::wrong_index, "wrong-index",
       "a job of an array is told the index of the one behind it"},
      {Plant::forgotten_guest, "forgotten-guest",
       "the nodes that people have added are forgotten with the broker that let them in"},
      {Plant::early_leave, "early-leave", "a node is said to have left as soon as it is asked to"},
      {Plant::endless_node, "endless-node",
       "a node that is there for a while only does not say so"},
      {Plant::one_clock, "one-clock",
       "whoever sets the wall clock sets that of the instances, too"},
      {Plant::forged_agent, "forged-agent",
       "whoever says so is taken for the agent beside the broker"},
      {Plant::silent_disk, "silent-disk",
       "a disk that is full says nothing, and what is written is gone"},
      {Plant::lost_remains, "lost-remains",
       "the journal of a child that is gone is read as if there were nothing in it"},
      {Plant::forgotten_rerun, "forgotten-rerun",
       "a job whose place was taken is not run again, though its queue says so"},
      {Plant::told_twice, "told-twice",
       "a job that is to save what it has done is told so a second time"},
      {Plant::lost_limit, "lost-limit", "another limit is acknowledged, and no agent hears of it"},
      {Plant::lost_stop, "lost-stop",
       "that a job is suspended, or goes on, is acknowledged, and no agent hears of it"},
      {Plant::open_door, "open-door", "whoever connects is taken for the owner of the instance"},
      {Plant::wrong_user, "wrong-user", "a user is taken for another one"},
  };
  return kPlants;
}

std::optional<Plant> plant_named(const std::string& name) {
  for (const auto& plant : all_plants())
    if (name == plant.name) return plant.plant;
  return std::nullopt;
}

}  // namespace holon::world
