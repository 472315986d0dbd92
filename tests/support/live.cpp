#include "tests/instance/live.hpp"

#include <chrono>
#include <thread>

#include "resource/jobspec/jobspec.hpp"
#include "tests/support/guardian.hpp"

namespace holon::instance::testing {

void signal_process(pid_t pid, int signal) {
  ASSERT_GT(pid, 1) << "there is no process to signal";
  kill(pid, signal);
}

std::string read_file(const std::string& name) {
  std::ifstream in(name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool alive(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return !stat.empty() && stat[stat.rfind(')') + 2] != 'Z';
}

std::vector<pid_t> children_of(pid_t pid) {
  std::istringstream list(
      read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
  std::vector<pid_t> pids;
  for (pid_t child = 0; list >> child;) pids.push_back(child);
  return pids;
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() ? 0 : std::stoi(stat.substr(stat.rfind(')') + 4));
}

std::string command_of(pid_t pid) {
  std::string line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  for (char& c : line)
    if (c == '\0') c = ' ';
  return line;
}

void add_tree(pid_t pid, std::set<pid_t>& pids) {
  pids.insert(pid);
  for (const pid_t child : children_of(pid)) add_tree(child, pids);
}

Live::~Live() {
  stop();
  std::filesystem::remove_all(dir_);
}

void Live::start() {
  ASSERT_TRUE(try_to_start()) << read_file(dir_ + "/state/instance.log");
  look_at_it();
}

void Live::start_again() {
  ASSERT_TRUE(eventually([this] { return try_to_start(); }))
      << read_file(dir_ + "/state/instance.log");
  look_at_it();
}

bool Live::try_to_start() {
  // Not in the registry of whoever runs the tests.
  std::string command =
      "XDG_STATE_HOME=" + dir_ + "/home " HOLON_BINARY " start --bg --state-dir " + dir_ + "/state";
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

void Live::look_at_it() {
  const auto now = status();
  ASSERT_TRUE(now) << now.error().what;
  supervisor_ = parent_of(static_cast<pid_t>(now->pid));
}

void Live::stop() {
  if (supervisor_ == 0 || !alive(supervisor_)) return;
  std::set<pid_t> all;
  add_tree(supervisor_, all);
  signal_process(supervisor_, SIGTERM);
  if (!eventually([this] { return !alive(supervisor_); })) {
    ADD_FAILURE() << "the instance does not end: " << read_file(dir_ + "/state/instance.log");
    for (const pid_t pid : all) signal_process(pid, SIGKILL);
  }
}

pid_t Live::child_named(const std::string& word) const {
  for (const pid_t pid : children_of(supervisor_))
    if (command_of(pid).find(" " + word + " ") != std::string::npos) return pid;
  return 0;
}

void Live::kill_broker() const {
  const pid_t before = broker();
  signal_process(before, SIGKILL);
  ASSERT_TRUE(eventually([&] { return broker() != before && broker() != 0; }));
}

Result<std::string> Live::ask(const std::string& topic, std::string payload,
                              const std::string& path, Duration timeout) const {
  auto client = transport::BlockingClient::connect(uri_, 30'000);
  if (!client) return tl::unexpected(client.error());
  return client->call(topic, std::move(payload), path, timeout);
}

Result<msg::TreeNode> Live::status(const std::string& path) const {
  return call<msg::TreeNode>("status", msg::Empty{}, path);
}

msg::SubmitRequest Live::request(std::vector<std::string> command, const JobOptions& options) {
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

Result<msg::SubmitReply> Live::submit(std::vector<std::string> command, const JobOptions& options,
                                      const std::string& path) const {
  return call<msg::SubmitReply>("submit", request(std::move(command), options), path);
}

std::uint64_t Live::job(std::vector<std::string> command, const JobOptions& options,
                        const std::string& path) const {
  const auto reply = submit(std::move(command), options, path);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->first_id : 0;
}

std::uint64_t Live::child(const JobOptions& options, const std::string& path,
                          std::vector<std::string> conf) const {
  std::vector<std::string> command = {HOLON_BINARY, "start", "--grant", "--bg"};
  for (auto& item : conf) command.insert(command.end(), {"--conf", item});
  JobOptions as_instance = options;
  as_instance.is_instance = true;
  return job(std::move(command), as_instance, path);
}

std::vector<msg::JobRecord> Live::wait(std::vector<std::uint64_t> ids,
                                       const std::string& path) const {
  const auto reply =
      call<msg::WaitReply>("job.wait", msg::WaitRequest{std::move(ids)}, path, 60'000);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->jobs : std::vector<msg::JobRecord>();
}

msg::JobRecord Live::wait_one(std::uint64_t id, const std::string& path) const {
  auto records = wait({id}, path);
  return records.empty() ? msg::JobRecord() : records.front();
}

msg::JobRecord Live::record(std::uint64_t id, const std::string& path) const {
  msg::JobsRequest ask_for;
  ask_for.ids = {id};
  ask_for.all = true;  // of an instance that has ended, too
  const auto reply = call<msg::JobsReply>("jobs", ask_for, path);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply && reply->jobs.size() == 1 ? reply->jobs.front() : msg::JobRecord();
}

msg::JobRecord Live::when_running(std::uint64_t id, const std::string& path) const {
  msg::JobRecord r;
  EXPECT_TRUE(eventually([&] {
    r = record(id, path);
    return r.t_start != 0;
  })) << r.state
      << ": " << r.reason;
  return r;
}

std::vector<msg::JobRecord> Live::jobs(bool all, bool recursive) const {
  msg::JobsRequest ask_for;
  ask_for.all = all;
  ask_for.recursive = recursive;
  const auto reply = call<msg::JobsReply>("jobs", ask_for);
  EXPECT_TRUE(reply) << reply.error().what;
  return reply ? reply->jobs : std::vector<msg::JobRecord>();
}

void Live::cancel(std::uint64_t id, const std::string& path) const {
  msg::CancelRequest ask_for;
  ask_for.ids = {id};
  EXPECT_TRUE(call<msg::CancelReply>("cancel", ask_for, path));
}

std::vector<std::string> Live::gated(const std::string& gate) const {
  const std::string fifo = dir_ + "/" + gate;
  mkfifo(fifo.c_str(), 0600);
  return {"/bin/sh", "-c", "read line < " + fifo + "; echo $line"};
}

void Live::release(const std::string& gate) const {
  std::ofstream(dir_ + "/" + gate) << "go\n";
}

std::string Live::new_dir() {
  std::string name = ::testing::TempDir() + "holon-live-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  tests::end_with_this_process("XDG_STATE_HOME=" + dir + "/home", dir);
  return dir;
}

}  // namespace holon::instance::testing
