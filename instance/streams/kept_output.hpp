// kept_output.hpp - the output of jobs on nodes that do not see this broker's files: their agents
// hand it over (launch/remote/output_sender.hpp).
#pragma once
#include "instance/agents/agents.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/identity.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

// "agent.files" and "agent.keep". REQUIRES of both: the sender is an agent that has said hello.
void tell_files(const transport::Request& request, const Identity& identity);
void keep_output(const transport::Request& request, JobManager& jobs, Agents& agents);

}  // namespace holon::instance
