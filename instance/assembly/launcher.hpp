// launcher.hpp - the processes that start agents on other nodes: the site's launcher, or an ssh for
// each.
#pragma once
#include <sys/types.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "instance/assembly/endpoint.hpp"
#include "instance/assembly/nodes.hpp"
#include "transport/munge/handover.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Launcher {
 public:
  struct Ended {
    std::string failure;    // a line for people; "": the process ended as it should
    std::size_t nodes = 0;  // other nodes whose agents it was to start
  };
  // `say` takes a line for people. `on_ended`: a process has ended.
  Launcher(transport::Reactor& reactor, std::function<void(const std::string&)> say,
           std::function<void(const Ended&)> on_ended)
      : reactor_(reactor), say_(std::move(say)), on_ended_(std::move(on_ended)) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // Makes what lets the agents of these nodes in: keys, and a socket that listens at `address` ("":
  // at all addresses of this machine). Where the only node may be joined by others later, but none
  // could, nothing is made. Errors: invalid_argument, system.
  Result<BrokerOptions::Secrets::Keys> prepare(const Nodes& nodes, const std::string& address);
  int socket() const { return endpoint_ ? endpoint_->socket.fd.get() : -1; }  // -1: not prepared

  // What each process is handed; "": nothing was made. REQUIRES: prepared.
  std::string invitation() const {
    return endpoint_ ? launch::write_invitation(endpoint_->invitation) : "";
  }

  // Starts all, and hands each the invitation. Errors: not_found, system. REQUIRES: prepared.
  Status start();

  // The broker has ended, and has sent the agents home: each process ends when what it started on
  // its node is gone. One that does not within 10 s is named, told to end, and killed 3 s later.
  // `orphan_timeout`: after this an agent that the process may have left there ends by itself.
  void see_out(Duration orphan_timeout);

  std::vector<pid_t> pids() const;

 private:
  struct Process {
    std::string name;
    pid_t pid = 0;
    transport::Subscription watch;
  };
  Status leave_invitation(const std::string& invitation);
  Status start_one(const std::vector<std::string>& command, const std::string& invitation);
  void signal(int signal) const;
  std::string unended() const;

  transport::Reactor& reactor_;
  std::function<void(const std::string&)> say_;
  std::function<void(const Ended&)> on_ended_;
  Nodes nodes_;
  std::shared_ptr<const Endpoint> endpoint_;
  std::unique_ptr<transport::Handover> handover_;  // of the invitation
  std::list<Process> processes_;
  transport::Subscription patience_;  // with processes that do not end
};

}  // namespace holon::instance
