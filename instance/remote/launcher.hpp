// launcher.hpp - the processes by which agents are started on other nodes: the site's launcher, or
// an ssh for each.
#pragma once
#include <sys/types.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "instance/remote/door.hpp"
#include "instance/remote/nodes.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class Launcher {
 public:
  struct Ended {
    std::string failure;    // a line for people; "": it ended as it should
    std::size_t nodes = 0;  // besides this one, whose agents it was to start
  };
  // `on_ended`: one of them has.
  Launcher(transport::Reactor& reactor, std::function<void(const Ended&)> on_ended)
      : reactor_(reactor), on_ended_(std::move(on_ended)) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // Makes what an instance of these nodes needs to let their agents in: keys, and a socket that
  // listens at `address` ("": at all of this machine's). Errors: invalid_argument, system.
  Result<BrokerOptions::Secrets::Keys> prepare(const Nodes& nodes, const std::string& address);
  int socket() const { return door_ ? door_->socket.fd.get() : -1; }  // -1: not prepared

  // What each of them is handed. REQUIRES: prepared.
  std::string invitation() const { return launch::write_invitation(door_->invitation); }

  // Starts all, and hands each the invitation. Errors: not_found, system. REQUIRES: prepared.
  Status start();

  std::vector<pid_t> pids() const;
  void signal(int signal) const;

 private:
  struct Process {
    std::string name;
    pid_t pid = 0;
    transport::Subscription watch;
  };
  Status start_one(const std::vector<std::string>& command, const std::string& invitation);

  transport::Reactor& reactor_;
  std::function<void(const Ended&)> on_ended_;
  Nodes nodes_;
  std::shared_ptr<const Door> door_;
  std::list<Process> processes_;
};

}  // namespace holon::instance
