// live.hpp - a real instance for a test: `holon start --bg` in a directory of its own, asked over
// its socket, and looked at through /proc. Ends with the test, whatever the test did to it, and whatever ends the test. What
// takes long to compile is in tests/support/live.cpp.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "msg/instance.hpp"
#include "places.hpp"  // written by CMake
#include "transport/blocking_client.hpp"

namespace holon::instance::testing {

// kill() with 0 or -1 would end the test runner itself: an instance that did not start has no pid.
void signal_process(pid_t pid, int signal);

std::string read_file(const std::string& name);

// Looks again every few ms until `done`, at most 30 s: for what other processes do, which sends no
// message to a test.
bool eventually(const std::function<bool()>& done);

bool alive(pid_t pid);
std::vector<pid_t> children_of(pid_t pid);
pid_t parent_of(pid_t pid);
std::string command_of(pid_t pid);
void add_tree(pid_t pid, std::set<pid_t>& pids);

struct JobOptions {
  std::int64_t cores = 1;
  double duration = 0;
  std::uint64_t count = 1;
  bool is_instance = false;
  std::int64_t tasks = 1;
  std::string system = "";  // more of attributes.system, as JSON
  std::map<std::string, std::string> environment = {};
};

class Live {
 public:
  explicit Live(std::vector<std::string> options) : options_(std::move(options)) { start(); }
  ~Live();

  // Also on a state directory left by an earlier start.
  void start();
  // After its supervisor was killed: what is left of it may still hold the state directory.
  void start_again();
  bool try_to_start();
  void look_at_it();
  void stop();

  // For the next start().
  void set_options(std::vector<std::string> options) { options_ = std::move(options); }

  const std::string& dir() const { return dir_; }
  const std::string& uri() const { return uri_; }
  pid_t supervisor() const { return supervisor_; }
  pid_t child_named(const std::string& word) const;
  pid_t broker() const { return child_named("broker"); }
  pid_t agent(int rank = 0) const { return child_named("--rank " + std::to_string(rank)); }
  // Returns when another one is there.
  void kill_broker() const;

  template <class Reply, class Ask>
  Result<Reply> call(const std::string& topic, const Ask& ask_for, const std::string& path = "",
                     Duration timeout = 30'000) const {
    const auto answer = ask(topic, transport::pack(ask_for), path, timeout);
    if (!answer) return tl::unexpected(answer.error());
    return transport::unpack<Reply>(*answer);
  }

  Result<msg::TreeNode> status(const std::string& path = "") const;

  static msg::SubmitRequest request(std::vector<std::string> command,
                                    const JobOptions& options = {});
  Result<msg::SubmitReply> submit(std::vector<std::string> command, const JobOptions& options = {},
                                  const std::string& path = "") const;
  // REQUIRES: it is taken.
  std::uint64_t job(std::vector<std::string> command, const JobOptions& options = {},
                    const std::string& path = "") const;
  // A child instance that stays until it is ended.
  std::uint64_t child(const JobOptions& options, const std::string& path = "",
                      std::vector<std::string> conf = {}) const;

  std::vector<msg::JobRecord> wait(std::vector<std::uint64_t> ids,
                                   const std::string& path = "") const;
  msg::JobRecord wait_one(std::uint64_t id, const std::string& path = "") const;
  msg::JobRecord record(std::uint64_t id, const std::string& path = "") const;
  msg::JobRecord when_running(std::uint64_t id, const std::string& path = "") const;
  std::vector<msg::JobRecord> jobs(bool all, bool recursive) const;
  void cancel(std::uint64_t id, const std::string& path = "") const;

  // A job that runs until release() is called for it.
  std::vector<std::string> gated(const std::string& gate) const;
  void release(const std::string& gate) const;

 protected:
  Live() = default;  // a directory, and nothing started
  std::string uri_;

 private:
  static std::string new_dir();
  Result<std::string> ask(const std::string& topic, std::string payload, const std::string& path,
                          Duration timeout) const;

  std::vector<std::string> options_;
  std::string dir_ = new_dir();
  pid_t supervisor_ = 0;
};

}  // namespace holon::instance::testing
