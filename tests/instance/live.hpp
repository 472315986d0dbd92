// live.hpp - a real instance for a test: `holon start --bg` in a directory of its own, asked over
// its socket, and looked at through /proc. Ends with the test, whatever the test did to it.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "msg/instance.hpp"
#include "places.hpp"  // written by CMake
#include "resource/jobspec/jobspec.hpp"
#include "transport/blocking_client.hpp"

namespace holon::instance::testing {

// kill() with 0 or -1 would end the test runner itself: an instance that did not start has no pid.
inline void signal_process(pid_t pid, int signal) {
  ASSERT_GT(pid, 1) << "there is no process to signal";
  kill(pid, signal);
}

inline std::string read_file(const std::string& name) {
  std::ifstream in(name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Looks again every few ms until `done`, at most 30 s: for what other processes do, which sends no
// message to a test.
inline bool eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline bool alive(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return !stat.empty() && stat[stat.rfind(')') + 2] != 'Z';
}

inline std::vector<pid_t> children_of(pid_t pid) {
  std::istringstream list(
      read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
  std::vector<pid_t> pids;
  for (pid_t child = 0; list >> child;) pids.push_back(child);
  return pids;
}

inline pid_t parent_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() ? 0 : std::stoi(stat.substr(stat.rfind(')') + 4));
}

inline std::string command_of(pid_t pid) {
  std::string line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  for (char& c : line)
    if (c == '\0') c = ' ';
  return line;
}

inline void add_tree(pid_t pid, std::set<pid_t>& pids) {
  pids.insert(pid);
  for (const pid_t child : children_of(pid)) add_tree(child, pids);
}

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
  ~Live() {
    stop();
    std::filesystem::remove_all(dir_);
  }

  // Also on a state directory left by an earlier start.
  void start() {
    ASSERT_TRUE(try_to_start()) << read_file(dir_ + "/state/instance.log");
    look_at_it();
  }
  // After its supervisor was killed: what is left of it may still hold the state directory.
  void start_again() {
    ASSERT_TRUE(eventually([this] { return try_to_start(); }))
        << read_file(dir_ + "/state/instance.log");
    look_at_it();
  }
  bool try_to_start() {
    std::string command = HOLON_BINARY " start --bg --state-dir " + dir_ + "/state";
    for (const auto& option : options_) command += " '" + option + "'";
    FILE* out = popen((command + " 2>/dev/null").c_str(), "r");
    char line[256] = "";
    const char* got = out == nullptr ? nullptr : fgets(line, sizeof line, out);
    if (out != nullptr) pclose(out);
    uri_ = line;
    uri_.erase(uri_.find_last_not_of('\n') + 1);
    // A client that is told no address looks for an instance of this user, and might find one that
    // is in use.
    if (uri_.empty()) uri_ = "ipc://" + dir_ + "/did-not-start";
    return got != nullptr;
  }
  void look_at_it() {
    const auto now = status();
    ASSERT_TRUE(now) << now.error().what;
    supervisor_ = parent_of(static_cast<pid_t>(now->pid));
  }

  void stop() {
    if (supervisor_ == 0 || !alive(supervisor_)) return;
    std::set<pid_t> all;
    add_tree(supervisor_, all);
    signal_process(supervisor_, SIGTERM);
    if (!eventually([this] { return !alive(supervisor_); })) {
      ADD_FAILURE() << "the instance does not end: " << read_file(dir_ + "/state/instance.log");
      for (const pid_t pid : all) signal_process(pid, SIGKILL);
    }
  }

  // For the next start().
  void set_options(std::vector<std::string> options) { options_ = std::move(options); }

  const std::string& dir() const { return dir_; }
  const std::string& uri() const { return uri_; }
  pid_t supervisor() const { return supervisor_; }
  pid_t child_named(const std::string& word) const {
    for (const pid_t pid : children_of(supervisor_))
      if (command_of(pid).find(" " + word + " ") != std::string::npos) return pid;
    return 0;
  }
  pid_t broker() const { return child_named("broker"); }
  pid_t agent(int rank = 0) const { return child_named("--rank " + std::to_string(rank)); }
  // Returns when another one is there.
  void kill_broker() const {
    const pid_t before = broker();
    signal_process(before, SIGKILL);
    ASSERT_TRUE(eventually([&] { return broker() != before && broker() != 0; }));
  }

  template <class Reply, class Ask>
  Result<Reply> call(const std::string& topic, const Ask& ask, const std::string& path = "",
                     Duration timeout = 30'000) const {
    auto client = transport::BlockingClient::connect(uri_, 30'000);
    if (!client) return tl::unexpected(client.error());
    return client->call<Reply>(topic, ask, path, timeout);
  }

  Result<msg::TreeNode> status(const std::string& path = "") const {
    return call<msg::TreeNode>("status", msg::Empty{}, path);
  }

  static msg::SubmitRequest request(std::vector<std::string> command,
                                    const JobOptions& options = {}) {
    resource::JobShape shape;
    shape.cores_per_task = options.cores;
    shape.tasks = options.tasks;
    shape.duration_seconds = options.duration;
    shape.command = std::move(command);
    shape.environment = options.environment;
    shape.cwd = "/";
    msg::SubmitRequest ask;
    auto spec = *resource::jobspec_for(shape);
    if (!options.system.empty()) spec.other_attributes = "{\"system\":" + options.system + "}";
    ask.jobspec = resource::write_jobspec(spec);
    ask.count = options.count;
    ask.user = "ada";
    ask.is_instance = options.is_instance;
    return ask;
  }
  Result<msg::SubmitReply> submit(std::vector<std::string> command, const JobOptions& options = {},
                                  const std::string& path = "") const {
    return call<msg::SubmitReply>("submit", request(std::move(command), options), path);
  }
  // REQUIRES: it is taken.
  std::uint64_t job(std::vector<std::string> command, const JobOptions& options = {},
                    const std::string& path = "") const {
    const auto reply = submit(std::move(command), options, path);
    EXPECT_TRUE(reply) << reply.error().what;
    return reply ? reply->first_id : 0;
  }
  // A child instance that stays until it is ended.
  std::uint64_t child(const JobOptions& options, const std::string& path = "",
                      std::vector<std::string> conf = {}) const {
    std::vector<std::string> command = {HOLON_BINARY, "start", "--grant", "--bg"};
    for (auto& item : conf) command.insert(command.end(), {"--conf", item});
    JobOptions as_instance = options;
    as_instance.is_instance = true;
    return job(std::move(command), as_instance, path);
  }

  std::vector<msg::JobRecord> wait(std::vector<std::uint64_t> ids,
                                   const std::string& path = "") const {
    const auto reply =
        call<msg::WaitReply>("job.wait", msg::WaitRequest{std::move(ids)}, path, 60'000);
    EXPECT_TRUE(reply) << reply.error().what;
    return reply ? reply->jobs : std::vector<msg::JobRecord>();
  }
  msg::JobRecord wait_one(std::uint64_t id, const std::string& path = "") const {
    auto records = wait({id}, path);
    return records.empty() ? msg::JobRecord() : records.front();
  }
  msg::JobRecord record(std::uint64_t id, const std::string& path = "") const {
    msg::JobsRequest ask;
    ask.ids = {id};
    const auto reply = call<msg::JobsReply>("jobs", ask, path);
    EXPECT_TRUE(reply) << reply.error().what;
    return reply && reply->jobs.size() == 1 ? reply->jobs.front() : msg::JobRecord();
  }
  msg::JobRecord when_running(std::uint64_t id, const std::string& path = "") const {
    msg::JobRecord r;
    EXPECT_TRUE(eventually([&] {
      r = record(id, path);
      return r.t_start != 0;
    })) << r.state
        << ": " << r.reason;
    return r;
  }
  std::vector<msg::JobRecord> jobs(bool all, bool recursive) const {
    msg::JobsRequest ask;
    ask.all = all;
    ask.recursive = recursive;
    const auto reply = call<msg::JobsReply>("jobs", ask);
    EXPECT_TRUE(reply) << reply.error().what;
    return reply ? reply->jobs : std::vector<msg::JobRecord>();
  }
  void cancel(std::uint64_t id, const std::string& path = "") const {
    msg::CancelRequest ask;
    ask.ids = {id};
    EXPECT_TRUE(call<msg::CancelReply>("cancel", ask, path));
  }

  // A job that runs until release() is called for it.
  std::vector<std::string> gated(const std::string& gate) const {
    const std::string fifo = dir_ + "/" + gate;
    mkfifo(fifo.c_str(), 0600);
    return {"/bin/sh", "-c", "read line < " + fifo + "; echo $line"};
  }
  void release(const std::string& gate) const { std::ofstream(dir_ + "/" + gate) << "go\n"; }

 protected:
  Live() = default;  // a directory, and nothing started
  std::string uri_;

 private:
  static std::string new_dir() {
    std::string name = ::testing::TempDir() + "holon-live-XXXXXX";
    return mkdtemp(name.data());
  }
  std::vector<std::string> options_;
  std::string dir_ = new_dir();
  pid_t supervisor_ = 0;
};

}  // namespace holon::instance::testing
