// private_hosts.hpp - several hosts on one machine for one test: each has a name, an address, a
// loopback, process numbers and some folders of its own (namespaces). Needs root.
//
// Host 0 is "login", the others n1, n2, ... Of the sandbox's folder they share all but the runtime
// directories, and with Files::own also those for states and temporary files. All that was started
// on a host ends with it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/system/nodes/network.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {

class PrivateHosts {
 public:
  enum class Files { shared, own };

  // Why there can be none here: GTEST_SKIP() << that. "": there can.
  static std::string missing();

  // Besides "login" so many. The sandbox must outlive them.
  PrivateHosts(Sandbox& sandbox, std::size_t count, Files files = Files::shared);
  // What is still left of the test on a host is a failure.
  ~PrivateHosts();
  PrivateHosts(const PrivateHosts&) = delete;
  PrivateHosts& operator=(const PrivateHosts&) = delete;

  // Are all there? Otherwise the test has failed, and why is among its messages.
  bool up() const { return network_ != nullptr; }
  static std::string name_of(std::size_t host);
  std::size_t count() const { return hosts_.size() - 1; }
  Network& network() { return *network_; }
  // What the first process of a host is called here.
  pid_t pid_of(std::size_t host) const { return hosts_[host].first; }

  // Between two tests that share them: runtime directories that are left on a host are a failure,
  // and are taken away.
  void go_back();
  // Of processes that were killed: they are none this time.
  void let_folders_stay() { may_leave_folders_ = true; }

  // The same words, to be run on a host.
  std::vector<std::string> on(std::size_t host, std::vector<std::string> words) const;
  Process start(std::size_t host, std::vector<std::string> words);
  Ran run(std::size_t host, std::vector<std::string> words) {
    return start(host, std::move(words)).finish();
  }
  // `holon` there.
  Ran holon(std::size_t host, std::vector<std::string> words);

  // Why there can be no remote_shell(): "" there can.
  static std::string no_remote_shell();
  // A program that takes ssh's words: the real one, to a daemon on each host.
  std::string remote_shell();

 private:
  struct Host {
    std::unique_ptr<Process> holder;
    pid_t first = 0;
    std::unique_ptr<Process> sshd;
  };
  std::vector<std::string> runtime_folders(std::size_t host) const;  // as this process sees them
  void begin(std::size_t host, Files files);
  void connect();
  void start_sshd(std::size_t host);

  Sandbox& sandbox_;
  std::vector<Host> hosts_;
  std::unique_ptr<Network> network_;
  bool may_leave_folders_ = false;
};

}  // namespace holon::system_test
