// output_streams.hpp - "job.attach": sends a job's output to a client, from its beginning to the
// job's end.
//
// While an agent holds its part of the job it streams the files as they are written; the rest, once
// it does not (the job ended, the agent died), is read from the files here. Offsets make the two
// fit without a gap or a repetition.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "instance/agents/agents.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/output/output_log.hpp"
#include "msg/instance.hpp"
#include "transport/reactor.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class OutputStreams {
 public:
  // `only_below`: in an instance of several users, which reads none of their files, the folder of
  // files that the instance names itself; else "".
  OutputStreams(transport::Reactor& reactor, transport::Server& server, const JobManager& jobs,
                Agents& agents, AfterCommit& after_commit, std::string only_below)
      : reactor_(reactor),
        server_(server),
        jobs_(jobs),
        agents_(agents),
        after_commit_(after_commit),
        only_below_(std::move(only_below)) {}

  void attach(const transport::Request& request);
  // "job.attach" for a job of an ended instance. Errors: not_found (no file).
  void attach_to_files(const transport::Request& request, const msg::JobRecord& job);
  void started(JobId job);  // some of the job's tasks run
  void agent_is_back();     // after a reconnect: interrupted streams go on
  void ended(JobId job);
  void close(const Error& why);
  // The output of an ended job in the log of outputs; nullopt: it is in files.
  std::function<Result<std::optional<LoggedOutput>>(JobId)> logged = [](JobId) {
    return std::optional<LoggedOutput>();
  };

 private:
  struct File {
    std::size_t part = 0;    // whose tasks share it, by place among the job's parts; else 0
    std::int32_t task = -1;  // the task whose file it is; -1: tasks share it
    bool error = false;      // standard error
    auto operator<=>(const File&) const = default;
  };
  struct Stream {
    transport::Request client;
    JobId job;
    std::map<std::size_t, transport::CallId> calls;  // to sending agents, by their parts
    bool job_ended = false;
    std::map<File, std::uint64_t> at;    // bytes passed on
    std::map<File, std::uint64_t> skip;  // bytes that the part's agent sends again
    transport::Subscription pause;
    std::optional<msg::JobRecord> left;  // set for a job that is not of this instance
  };
  void open(Stream& stream);
  void open_part(Stream& stream, const AgentLink& agent, std::size_t part);
  void ended_part(Stream& stream, std::size_t part);
  void stop_agents(Stream& stream);
  std::size_t parts_of(const Stream& stream, const msg::JobRecord& job) const;
  void finish_from_files(Stream& stream);
  static void send_logged(Stream& stream, const LoggedOutput& all);
  bool pump(Stream& stream, const std::string& name, File file);
  Status may_read(const msg::JobRecord& job) const;
  bool pump_all(Stream& stream, const msg::JobRecord& job, bool error);
  void pass_on(Stream& stream, std::size_t part, const std::string& chunk);
  void rest(Stream& stream);
  void go_on(Stream& stream);
  void sweep();

  transport::Reactor& reactor_;
  transport::Server& server_;
  const JobManager& jobs_;
  Agents& agents_;
  AfterCommit& after_commit_;
  const std::string only_below_;
  std::list<Stream> streams_;  // callbacks hold references
};

}  // namespace holon::instance
