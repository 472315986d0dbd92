// A child instance whose parent is played by the test: leases that move, a parent that is not
// there.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <optional>

#include "instance/basics/clock.hpp"
#include "instance/journal/journal.hpp"
#include "instance/tree/parent_link.hpp"
#include "launch/tasks/environment.hpp"
#include "msg/events.hpp"
#include "places.hpp"  // written by CMake
#include "resource/formats/readers.hpp"
#include "resource/formats/writers.hpp"
#include "resource/graph/graph.hpp"
#include "tests/instance/live.hpp"
#include "transport/endpoint.hpp"
#include "transport/secret.hpp"

namespace holon::instance {
namespace {

// `holon start --grant --bg` as an agent would start it, with a parent at `uri`.
class ChildProcess {
 public:
  ChildProcess(const std::string& parent_uri, const std::string& state_dir,
               std::vector<std::string> options) {
    std::vector<std::string> words = {HOLON_BINARY, "start", "--grant", "--bg"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<std::string> variables = {"HOLON_JOB_PATH=/7", "HOLON_SECRETS_FD=3"};
    const char* path = std::getenv("PATH");
    variables.push_back(std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"));
    const auto secrets =
        transport::secret_in_descriptor(launch::secrets_text({{"HOLON_PARENT_URI", parent_uri},
                                                              {"HOLON_TOKEN", "secret"},
                                                              {"HOLON_STATE_DIR", state_dir}}));
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, secrets->get(), 3);
    EXPECT_EQ(posix_spawn(&pid_, HOLON_BINARY, &files, nullptr, pointers(words).data(),
                          pointers(variables).data()),
              0);
    posix_spawn_file_actions_destroy(&files);
  }
  ~ChildProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Its exit code once it has ended.
  std::optional<int> ended() {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> list;
    for (auto& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    return list;
  }
  pid_t pid_ = 0;
};

class ParentTest : public ::testing::Test {
 protected:
  void SetUp() override { dir_ = *transport::make_runtime_dir(); }
  void TearDown() override {
    child_.reset();
    server_.reset();
    std::filesystem::remove_all(dir_);
  }

  void listen() {
    server_ = std::move(*transport::Server::listen(*reactor_, *transport::ipc_uri(dir_, "p")));
    server_->on_request([this](const transport::Request& request) {
      if (request.topic() == "record") ++records_;
      if (request.topic() == "ending")
        heard_ending(*transport::unpack<msg::Ending>(request.payload()));
      if (request.topic() != "hello") return request.reply(transport::pack(msg::Empty{}));
      hello_ = *transport::unpack<msg::Hello>(request.payload());
      child_peer_ = request.peer();
      request.reply(transport::pack(grant()));
    });
  }
  msg::Grant grant() const {
    const auto graph = resource::ResourceGraph::build(*resource::read_shape("node=1/core=2"));
    msg::Grant grant;
    grant.jgf = resource::write_jgf(*graph);
    grant.time_left = time_left_;
    grant.lease = lease_;
    grant.epoch = 1;
    grant.path = "/7";
    grant.name = "seventh";
    grant.bind = false;
    return grant;
  }
  void begin(const std::string& uri, std::vector<std::string> options = {}) {
    child_.emplace(uri, dir_ + "/state", std::move(options));
  }
  bool until(const std::function<bool()>& done) {
    const auto tick = reactor_->every(5, [] {});
    return reactor_->run_until(done, 30'000);
  }
  // A new end.
  void tell_lease(Duration left) {
    bool told = false;
    server_->call(child_peer_,
                  {"lease", transport::pack(msg::Lease{left, ++lease_, -1, "", false})},
                  [&](const Result<std::string>& answer) { told = answer.has_value(); });
    ASSERT_TRUE(until([&] { return told; }));
  }
  // What the child says of itself; its broker may just be started again.
  std::optional<msg::TreeNode> child_status() {
    std::optional<Result<std::string>> answer;
    server_->call(child_peer_, {"status", transport::pack(msg::Empty{})},
                  [&](Result<std::string> got) { answer = std::move(got); });
    until([&] { return answer.has_value(); });
    if (!answer || !*answer) return std::nullopt;
    return *transport::unpack<msg::TreeNode>(**answer);
  }

  // Once the child says that it has told all there is, its broker does nothing more.
  void heard_ending(const msg::Ending& word) {
    if (!word.told_all) return;
    for (const auto& topic : asks_at_the_end_)
      server_->call(child_peer_, {topic, transport::pack(msg::Empty{}), "", 0},
                    [this, topic](const Result<std::string>& answer) {
                      last_answers_[topic] = answer ? "an answer" : to_string(answer.error());
                      last_codes_[topic] = answer ? Errc::exists : answer.error().code;
                    });
  }

  std::vector<std::string> asks_at_the_end_;
  std::map<std::string, std::string> last_answers_;
  std::map<std::string, Errc> last_codes_;
  std::string dir_;
  std::unique_ptr<transport::Reactor> reactor_ = std::move(*transport::Reactor::create());
  std::unique_ptr<transport::Server> server_;
  std::optional<ChildProcess> child_;
  std::optional<msg::Hello> hello_;
  transport::PeerId child_peer_;
  Duration time_left_ = 3'600'000;
  std::int64_t lease_ = 1;
  int records_ = 0;
};

TEST_F(ParentTest, AChildEndsAtItsLeasesNewEnd) {
  listen();
  begin("ipc://" + dir_ + "/p");
  ASSERT_TRUE(until([&] { return hello_.has_value(); }));
  tell_lease(500);
  EXPECT_TRUE(until([&] { return child_->ended().has_value(); })) << "not at the old one";
}

// A word that was long on its way says that more is left than there is, and one about the same end
// is no news; a parent whose own clock ran ahead may cut it.
TEST_F(ParentTest, ALeaseThatIsToldAgainIsNeitherLongerNorShorter) {
  listen();
  begin("ipc://" + dir_ + "/p");
  ASSERT_TRUE(until([&] { return hello_.has_value(); }));
  const auto before = child_status();
  ASSERT_TRUE(before);
  const auto told_again = [&](Duration left) {
    time_left_ = left;
    hello_.reset();
    testing::signal_process(static_cast<pid_t>(child_status()->pid), SIGKILL);
    EXPECT_TRUE(until([&] { return hello_.has_value(); }));
    const auto node = child_status();
    return node ? node->expiration : 0;
  };
  EXPECT_EQ(told_again(3'700'000), before->expiration);
  EXPECT_EQ(told_again(3'600'000), before->expiration);
  EXPECT_LT(told_again(600'000), before->expiration);
}

// A client of the child's own that does not read keeps its broker there after its last turn. What
// it is asked then gets no other answer than what the end of the connection would say, for that is
// what those who ask go on after.
TEST_F(ParentTest, WhatAChildIsAskedAfterItsLastTurnIsAnsweredAsItsEnd) {
  listen();
  begin("ipc://" + dir_ + "/p");
  ASSERT_TRUE(until([&] { return hello_.has_value(); }));
  auto reader = transport::BlockingClient::connect(hello_->uri, 60'000);
  ASSERT_TRUE(reader) << reader.error().what;
  msg::EventsRequest everything;
  const auto followed = reader->stream<msg::EventsPart>(
      "events", everything, "", [](const msg::EventsPart&) { return false; });
  ASSERT_TRUE(followed) << followed.error().what;
  asks_at_the_end_ = {"events", "status", "jobs", "submit", "tree", "job.wait"};
  server_->call(child_peer_, {"shutdown", transport::pack(msg::ShutdownRequest{}), "", 0},
                [](const Result<std::string>&) {});
  ASSERT_TRUE(until([&] { return last_codes_.size() == asks_at_the_end_.size(); }));
  for (const auto& [topic, code] : last_codes_)
    EXPECT_EQ(code, Errc::disconnected) << topic << ": " << last_answers_[topic];
  EXPECT_TRUE(until([&] { return child_->ended().has_value(); }));
}

TEST_F(ParentTest, AChildThatNeverReachesItsParentDoesNotWaitForEver) {
  begin("ipc://" + dir_ + "/nobody", {"--conf", "instance.orphan-timeout=300ms"});
  std::optional<int> code;
  EXPECT_TRUE(until([&] { return (code = child_->ended()).has_value(); }));
  EXPECT_EQ(code, 1);
}

// A broker that is killed between the two would not know what its parent knows.
TEST_F(ParentTest, NoRecordIsToldBeforeItIsCommitted) {
  listen();
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  bool granted = false;
  ParentLink::Callbacks callbacks;
  callbacks.granted = [&](const msg::Grant&) { granted = true; };
  callbacks.denied = [](const Error& error) { ADD_FAILURE() << error.what; };
  callbacks.lost = [] {};
  callbacks.request = [](const transport::Request&) {};
  callbacks.record = [](const std::string& path) {
    msg::JobRecord record;
    record.path = path;
    return std::optional(record);
  };
  auto link = ParentLink::connect(*reactor_, "ipc://" + dir_ + "/p", {},
                                  {"secret", JobId(7), "ipc://nowhere", 0}, *journal,
                                  std::move(callbacks), 0);
  ASSERT_TRUE(link) << link.error().what;
  ASSERT_TRUE(until([&] { return granted; }));
  (*link)->changed("/7/1");
  for (int turns = 0; turns < 5; ++turns) reactor_->turn(20);
  EXPECT_EQ(records_, 0) << "it is due, and the turn has not been committed";
  ASSERT_TRUE(journal->commit());
  (*link)->flush();
  EXPECT_TRUE(until([&] { return records_ == 1; }));
  EXPECT_TRUE(until([&] { return (*link)->all_sent(); }));
}

}  // namespace
}  // namespace holon::instance
