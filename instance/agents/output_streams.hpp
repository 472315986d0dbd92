// output_streams.hpp - "job.attach": a job's output to whoever looks, from its beginning to the
// job's end.
//
// While the agent holds the job it streams the files as they are written; what is left once it does
// not (the job ended, the agent died) is read from the files here. Offsets make the two fit without
// a gap or a repetition.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "instance/agents/agent_link.hpp"
#include "instance/job/manager.hpp"
#include "instance/journal/after_commit.hpp"
#include "msg/instance.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class OutputStreams {
 public:
  OutputStreams(transport::Reactor& reactor, transport::Server& server, const JobManager& jobs,
                const AgentLink& agent, AfterCommit& after_commit)
      : reactor_(reactor),
        server_(server),
        jobs_(jobs),
        agent_(agent),
        after_commit_(after_commit) {}

  void attach(const transport::Request& request);
  // "job.attach" for a job of an instance that has ended; errors: not_found (no file).
  void attach_to_files(const transport::Request& request, const msg::JobRecord& job);
  void started(JobId job);  // its tasks run
  void agent_is_back();     // after a reconnect: what was interrupted goes on
  void ended(JobId job);
  void close(const Error& why);

 private:
  using File = std::pair<std::int32_t, bool>;  // the task, -1 where they share it; standard error?
  struct Stream {
    transport::Request client;
    JobId job;
    bool from_agent = false;  // the agent is sending
    bool job_ended = false;
    std::map<File, std::uint64_t> at;    // bytes passed on
    std::map<File, std::uint64_t> skip;  // bytes the agent sends again
    transport::CallId call;              // to the agent
    transport::Subscription pause;
    std::optional<msg::JobRecord> left;  // of a job that is not one of this instance
  };
  void open(Stream& stream);
  void finish_from_files(Stream& stream);
  bool pump(Stream& stream, const std::string& name, File file);
  bool pump_all(Stream& stream, const msg::JobRecord& job, bool error);
  void pass_on(Stream& stream, const std::string& chunk);
  void rest(Stream& stream);
  void sweep();

  transport::Reactor& reactor_;
  transport::Server& server_;
  const JobManager& jobs_;
  const AgentLink& agent_;
  AfterCommit& after_commit_;
  std::list<Stream> streams_;  // callbacks hold references
};

}  // namespace holon::instance
