// users_fixture.hpp - an instance for several users (holon start --system), and the users. Runs as
// root only.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "client/client.hpp"
#include "places.hpp"  // written by CMake
#include "resource/jobspec/jobspec.hpp"
#include "tests/private_users.hpp"
#include "tests/system/sandbox.hpp"

namespace holon::system_test {

namespace fs = std::filesystem;
using namespace holon::testing_users;  // NOLINT: names of people

class Users : public testing::Test {
 protected:
  static std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  // Makes a submission as `user` that no command makes. "": it was taken.
  std::string refusal_of(const std::string& user, const std::string& path, resource::JobShape shape,
                         const std::string& named = "") const {
    shape.name = "forged";
    const auto spec = resource::jobspec_for(std::move(shape));
    EXPECT_TRUE(spec);
    msg::SubmitRequest request;
    request.jobspec = resource::write_jobspec(*spec);
    request.user = named;
    const std::string said = folder() + "/said";
    std::ofstream(said).close();
    const unsigned uid = people_.at(user);
    EXPECT_EQ(chown(said.c_str(), uid, uid), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) _exit(2);
      auto client = client::Client::connect({uri_, path, {}});
      if (!client) _exit(1);
      const auto taken = client->submit(request);
      if (!taken) std::ofstream(said) << to_string(taken.error());
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return text_of(said);
  }

  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
  }

  static unsigned owner_of(const std::string& path) {
    struct stat info {};
    return lstat(path.c_str(), &info) == 0 ? info.st_uid : ~0U;
  }

  void SetUp() override {
    if (const std::string why = no_private_users(); !why.empty()) GTEST_SKIP() << why;
    sandbox_.emplace();
    ASSERT_EQ(chmod(folder().c_str(), 0711), 0);
    users_.emplace(folder());
    ASSERT_TRUE(users_->is_there());
    for (const auto& [name, uid] : people_) {
      fs::create_directory(home_of(name));
      ASSERT_EQ(chown(home_of(name).c_str(), uid, uid), 0);
      ASSERT_EQ(chmod(home_of(name).c_str(), 0700), 0);
    }
  }
  void TearDown() override {
    if (!uri_.empty() && !is_over_) {
      const Ran ended = as("root", {"shutdown"});
      EXPECT_EQ(ended.code, 0) << ended.err;
    }
    for (const auto& [name, uid] : people_) wait_for_none_of(uid);
    if (sandbox_) wait_for_none_of(0, folder());  // its starter and keepers
    users_.reset();
    sandbox_.reset();
  }

  const std::string& folder() const { return sandbox_->folder(); }
  std::string home_of(const std::string& name) const { return folder() + "/home-" + name; }
  std::string state_dir() const { return folder() + "/state"; }
  std::vector<std::string> start_words(std::vector<std::string> more) const {
    std::vector<std::string> words = {"start",
                                      "--system",
                                      "--bg",
                                      "--runtime-dir",
                                      folder() + "/all",
                                      "--state-dir",
                                      state_dir(),
                                      "--resources",
                                      "node=1/core=6",
                                      "--conf",
                                      "access.operators=eve"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void start(std::vector<std::string> more = {}) {
    const Ran ran = sandbox_->run(start_words(std::move(more)));
    ASSERT_EQ(ran.code, 0) << ran.err << text_of(state_dir() + "/instance.log");
    uri_ = trimmed(ran.out);
  }

  // What somebody's login shell would have.
  Process starts(const std::string& user, std::vector<std::string> command,
                 std::map<std::string, std::string> more = {}) const {
    if (user != "root") {
      const std::string uid = std::to_string(people_.at(user));
      command.insert(command.begin(), {"setpriv", "--reuid", uid, "--regid", uid, "--init-groups"});
    }
    const std::string home = user == "root" ? folder() : home_of(user);
    std::map<std::string, std::string> environment = {
        {"HOME", home},         {"PATH", "/usr/bin:/bin"},
        {"LC_ALL", "C.UTF-8"},  {"HOLON_URI", uri_},
        {"USER", user},         {"XDG_STATE_HOME", home + "/state"},
        {"HOLON", HOLON_BINARY}};
    more.merge(environment);
    return Process(std::move(command), more, home);
  }
  Ran as(const std::string& user, std::vector<std::string> words) const {
    words.insert(words.begin(), HOLON_BINARY);
    return starts(user, std::move(words)).finish();
  }
  Ran shell_as(const std::string& user, const std::string& script) const {
    return starts(user, {"sh", "-c", script}).finish();
  }
  std::string ok(const std::string& user, const std::vector<std::string>& words) const {
    const Ran ran = as(user, words);
    EXPECT_EQ(ran.code, 0) << user << ": " << testing::PrintToString(words) << ran.out << ran.err;
    return trimmed(ran.out);
  }
  nlohmann::json json(const std::string& user, std::vector<std::string> words) const {
    words.emplace_back("--json");
    return nlohmann::json::parse(ok(user, words), nullptr, false);
  }
  // The audit says that this user was refused this topic for that reason.
  bool was_refused(const std::string& user, const std::string& topic,
                   const std::string& why) const {
    const auto audit = json("eve", {"audit", "--refused"});
    for (const auto& entry : audit["entries"])
      if (entry["user"] == user && entry["topic"] == topic &&
          entry["refused"].get<std::string>().find(why) != std::string::npos)
        return true;
    return false;
  }

  // What the system refused to jobs, by the audit, the oldest first: "USER, JOB: WHY".
  std::vector<std::string> denials() const {
    std::vector<std::string> found;
    const auto audit = json("eve", {"audit", "--refused"});
    const auto text = [](const nlohmann::json& word) { return word.get<std::string>(); };
    for (const auto& entry : audit["entries"])
      if (entry["topic"] == "agent.start")
        found.push_back(text(entry["user"]) + ", " + text(entry["what"]) + ": " +
                        text(entry["refused"]));
    return found;
  }

  // 'R', 'S', 'T', ...
  static char state_of(pid_t pid) {
    const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
    const auto end = stat.rfind(')');
    return end == std::string::npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
  }

  struct Found {
    pid_t pid = 0;
    std::string line;
  };
  static std::vector<Found> processes_of(unsigned uid, const std::string& with = "") {
    std::vector<Found> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (!testing_users::is_of_this_test(name)) continue;
      const std::string status = text_of(entry.path() / "status");
      const auto at = status.find("\nUid:\t");
      if (at == std::string::npos || std::stoul(status.substr(at + 6)) != uid) continue;
      const pid_t pid = std::stoi(name);
      const std::string line = command_line(pid);
      if (alive(pid) && !line.empty() && line.find(with) != std::string::npos)
        found.push_back({pid, line});
    }
    return found;
  }
  static void wait_for_none_of(unsigned uid, const std::string& with = "") {
    for (int i = 0; i < 3'000 && !processes_of(uid, with).empty(); ++i) poll(nullptr, 0, 10);
    for (const auto& left : processes_of(uid, with)) {
      ADD_FAILURE() << "left behind: " << left.pid << " " << left.line;
      kill(left.pid, SIGKILL);
    }
  }
  void wait_for(const std::string& user, const std::string& job, const std::string& state) const {
    for (int i = 0; i < 3'000; ++i) {
      const auto jobs = json(user, {"jobs", "-a", job});
      if (jobs["jobs"].size() == 1 && jobs["jobs"][0]["state"] == state) return;
      poll(nullptr, 0, 10);
    }
    ADD_FAILURE() << "job " << job << " is not " << state;
  }

  const std::map<std::string, unsigned> people_ = {
      {"holon", kInstance}, {"ann", kAnn}, {"bob", kBob}, {"eve", kEve}};
  std::optional<Sandbox> sandbox_;
  std::optional<PrivateUsers> users_;
  std::string uri_;
  bool is_over_ = false;
};

}  // namespace holon::system_test
