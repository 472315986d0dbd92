// input_streams.hpp - "job.input": passes a client's input to the tasks of its job.
//
// Each piece is passed to the agents that run the job and answered when they have answered: a task
// that reads slowly slows down the client, and nothing is kept here but requests without data that
// wait for the start of their job.
#pragma once
#include <list>

#include "instance/agents/agents.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "msg/input.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class InputStreams {
 public:
  InputStreams(transport::Server& server, const JobManager& jobs, Agents& agents,
               AfterCommit& after_commit)
      : server_(server), jobs_(jobs), agents_(agents), after_commit_(after_commit) {}

  void take(const transport::Request& request);
  void started(JobId job);  // some of the job's tasks run
  void ended(JobId job);
  void close(const Error& why);

 private:
  struct Waiting {
    transport::Request request;
    JobId job;
  };
  void pass_on(const transport::Request& request, const msg::InputRequest& piece);

  transport::Server& server_;
  const JobManager& jobs_;
  Agents& agents_;
  AfterCommit& after_commit_;
  std::list<Waiting> waiting_;
};

}  // namespace holon::instance
