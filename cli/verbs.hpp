// verbs.hpp - all verbs, one declaration each; the table is in verbs.cpp.
#pragma once
#include <span>

#include "cli/verb.hpp"

namespace holon::cli {

std::span<const Verb> verbs();

int verb_start(Invocation& call);
int verb_alloc(Invocation& call);
int verb_broker(Invocation& call);
int verb_leaves(Invocation& call);
int verb_agent(Invocation& call);
int verb_pmix(Invocation& call);
int verb_dead_child(Invocation& call);
int verb_files(Invocation& call);
int verb_pty(Invocation& call);
int verb_batch(Invocation& call);
int verb_run(Invocation& call);
int verb_submit(Invocation& call);
int verb_users(Invocation& call);
int verb_cancel(Invocation& call);
int verb_close(Invocation& call);
int verb_jobs(Invocation& call);
int verb_job(Invocation& call);
int verb_output(Invocation& call);
int verb_watch(Invocation& call);
int verb_events(Invocation& call);
int verb_history(Invocation& call);
int verb_completion(Invocation& call);
int verb_report(Invocation& call);
int verb_journal(Invocation& call);
int verb_explain(Invocation& call);
int verb_priority(Invocation& call);
int verb_plan(Invocation& call);
int verb_windows(Invocation& call);
int verb_retry(Invocation& call);
int verb_signal(Invocation& call);
int verb_update(Invocation& call);
int verb_suspend(Invocation& call);
int verb_resume(Invocation& call);
int verb_urgency(Invocation& call);
int verb_queue(Invocation& call);
int verb_config(Invocation& call);
int verb_stats(Invocation& call);
int verb_reserve(Invocation& call);
int verb_reservation(Invocation& call);
int verb_tree(Invocation& call);
int verb_resource(Invocation& call);
int verb_uptime(Invocation& call);
int verb_top(Invocation& call);
int verb_web(Invocation& call);
int verb_shutdown(Invocation& call);
int verb_instances(Invocation& call);
int verb_invite(Invocation& call);
int verb_join(Invocation& call);
int verb_leave(Invocation& call);
int verb_provision(Invocation& call);
int verb_audit(Invocation& call);
int verb_doctor(Invocation& call);
int verb_query(Invocation& call);
int verb_protocol(Invocation& call);
int verb_slurm_tools(Invocation& call);
int verb_version(Invocation& call);
int verb_man(Invocation& call);
int verb_policy(Invocation& call);
int verb_simulate(Invocation& call);

}  // namespace holon::cli
