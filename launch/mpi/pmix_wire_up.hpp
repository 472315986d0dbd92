// pmix_wire_up.hpp - PMIx for the tasks of one job on this node, as Open MPI's processes want it: a
// server beside them (pmix_server.hpp), and a folder for shared files.
//
// The server is one of the job's processes: it ends with them, and they with it. Its messages are
// not trusted: it reads what tasks send.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/files/job_folder.hpp"
#include "launch/messages.hpp"
#include "launch/mpi/pmix_messages.hpp"
#include "launch/mpi/wire_up.hpp"
#include "launch/tasks/environment.hpp"
#include "launch/tasks/processes.hpp"
#include "transport/reactor.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// The program of the server, below the folder that has bin/holon: a static holon, which loads no
// library, needs it.
inline constexpr const char* kPmixHelper = "libexec/holon/holon-pmix";

// The command of the server for the holon `binary` (an absolute path): kPmixHelper where it is
// installed beside, else the binary's own verb.
std::vector<std::string> pmix_server_command(const std::string& binary);

class PmixWireUp final : public WireUp {
 public:
  struct Ground {
    transport::Reactor& reactor;
    Processes& processes;
    const NodeFrame& frame;
    int cgroup = -1;  // the job's; -1: the agent's
  };

  // All that `ground` names must outlive it. Errors: system (the server cannot be started).
  static Result<std::unique_ptr<PmixWireUp>> create(Ground ground, const msg::Start& start,
                                                    WireUpEvents events);
  ~PmixWireUp() override;

  bool is_ready() const override { return !environments_.empty(); }
  std::map<std::string, std::string> variables(std::size_t place) const override;
  int descriptor(std::size_t) const override { return -1; }
  void done_opening() override {}
  Status release(const std::vector<std::string>& parts) override;
  bool ended(std::size_t place) override;
  void all_ended() override;

 private:
  enum class Standing { unknown, connected, finalized };

  PmixWireUp(Ground ground, JobFolder folder, std::vector<std::uint32_t> ranks,
             WireUpEvents events);
  Status start_server(std::uint64_t job);
  void wait_for(unsigned what);
  bool hear();
  void hear_the_rest();
  void take(pmix::Told told);
  void take_ready(pmix::Told told);
  void say(const std::string& message);
  void flush();
  void server_failed(const std::string& why);

  Ground ground_;
  JobFolder folder_;
  WireUpEvents events_;
  std::vector<std::uint32_t> ranks_;  // of the tasks here
  std::vector<Standing> standings_;   // in the same order
  std::vector<Environment> environments_;
  transport::UniqueFd server_;
  pid_t pid_ = 0;
  std::string heard_, unsent_;
  bool is_over_ = false;
  transport::Subscription talk_, exit_;
};

}  // namespace holon::launch
