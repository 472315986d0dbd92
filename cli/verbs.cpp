#include "cli/verbs.hpp"

#include <array>

namespace holon::cli {

// In the order `holon --help` shows them.
std::span<const Verb> verbs() {
  static constexpr auto kVerbs = std::to_array<Verb>({
      {"start", "make an instance here and run a script or a shell in it", Group::instance,
       verb_start},
      {"batch", "queue a child instance that runs a script", Group::instance, verb_batch},
      {"alloc", "a child instance to work in", Group::instance, verb_alloc},
      {"shutdown", "end an instance in order", Group::instance, verb_shutdown},
      {"invite", "let nodes join an instance: write them an invitation", Group::instance,
       verb_invite},
      {"join", "add this node to a running instance", Group::instance, verb_join},
      {"leave", "take a node out of an instance, in order", Group::instance, verb_leave},
      {"provision", "slurm, sge, pbs, list, ...: more nodes by batch jobs", Group::instance,
       verb_provision},
      {"submit", "put jobs into the queue, print their ids", Group::work, verb_submit},
      {"run", "run a job and wait for it, with its output here", Group::work, verb_run},
      {"cancel", "end jobs, pending or running", Group::work, verb_cancel},
      {"retry", "submit again what failed of an array, or a job", Group::work, verb_retry},
      {"signal", "send a signal to the tasks of running jobs", Group::work, verb_signal},
      {"update", "change what jobs ask for: limit, size, queue, name", Group::work, verb_update},
      {"suspend", "stop the tasks of running jobs for a while", Group::work, verb_suspend},
      {"resume", "let suspended jobs go on", Group::work, verb_resume},
      {"urgency", "hold pending jobs, or put them first", Group::work, verb_urgency},
      {"queue", "status, enable, disable, start, stop: the queues", Group::work, verb_queue},
      {"reserve", "reserve resources for later", Group::work, verb_reserve},
      {"reservation", "list, delete: advance reservations", Group::work, verb_reservation},
      {"jobs", "list jobs", Group::look, verb_jobs},
      {"job", "info, eventlog, wait, status, output, attach: look at one job", Group::look,
       verb_job},
      {"watch", "see how far jobs are, until all are over", Group::look, verb_watch},
      {"history", "what jobs that are over have waited for and used", Group::look, verb_history},
      {"report", "a page about what an instance has done", Group::look, verb_report},
      {"explain", "why jobs wait, and what would let them start now", Group::look, verb_explain},
      {"priority", "what the places of jobs in their queue come from", Group::look, verb_priority},
      {"plan", "what is held now and promised for later", Group::look, verb_plan},
      {"windows", "what could start now, and for how long", Group::look, verb_windows},
      {"users", "who has what: jobs, cores, child instances", Group::look, verb_users},
      {"tree", "show the instances, what they have, do and wait for", Group::look, verb_tree},
      {"resource", "list, R, discover: what there is", Group::look, verb_resource},
      {"uptime", "one line about an instance", Group::look, verb_uptime},
      {"stats", "what the scheduler did, and how long its passes took", Group::look, verb_stats},
      {"audit", "who asked for changes, and what was refused", Group::look, verb_audit},
      {"doctor", "would an instance work here, and with what", Group::tools, verb_doctor},
      {"query", "ask a resource graph: match, find, allocate, cancel", Group::tools, verb_query},
      {"protocol", "what can be asked of an instance, for programs", Group::tools, verb_protocol},
      {"version", "print the version", Group::tools, verb_version},
      {"journal", "check, compact, export, repair what an instance has kept", Group::tools,
       verb_journal},
      {"policy", "check, test, what-if, load, show, disable: a scheduling policy in Lua",
       Group::tools, verb_policy},
      {"simulate", "replay a trace of jobs under a policy, in virtual time", Group::tools,
       verb_simulate},
      {"broker", "the process that schedules; made by start", Group::hidden, verb_broker},
      {"agent", "the process that runs tasks; made by start", Group::hidden, verb_agent},
      {"pmix", "lets processes of Open MPI find each other; made by agent", Group::hidden,
       verb_pmix},
      {"remains", "reads what an ended instance left of its jobs; made by agent", Group::hidden,
       verb_remains},
      {"pty", "runs a program at somebody's terminal; made by run --pty", Group::hidden, verb_pty},
      {"man", "write the man pages", Group::hidden, verb_man},
      {"completion", "write what a shell needs to complete holon's words", Group::tools,
       verb_completion},
  });
  return kVerbs;
}

}  // namespace holon::cli
