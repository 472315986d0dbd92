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
  static std::string text_of(const fs::path& file);
  // Makes a submission as `user` that no command makes. "": it was taken.
  std::string refusal_of(const std::string& user, const std::string& path, resource::JobShape shape,
                         const std::string& named = "") const;

  static std::string trimmed(std::string text);

  static unsigned owner_of(const std::string& path);

  void SetUp() override;
  void TearDown() override;

  const std::string& folder() const { return sandbox_->folder(); }
  std::string home_of(const std::string& name) const { return folder() + "/home-" + name; }
  std::string state_dir() const { return folder() + "/state"; }
  std::vector<std::string> start_words(std::vector<std::string> more) const;
  void start(std::vector<std::string> more = {});

  // What somebody's login shell would have.
  Process starts(const std::string& user, std::vector<std::string> command,
                 std::map<std::string, std::string> more = {}) const;
  Ran as(const std::string& user, std::vector<std::string> words) const;
  Ran shell_as(const std::string& user, const std::string& script) const;
  std::string ok(const std::string& user, const std::vector<std::string>& words) const;
  nlohmann::json json(const std::string& user, std::vector<std::string> words) const;
  // The audit says that this user was refused this topic for that reason.
  bool was_refused(const std::string& user, const std::string& topic, const std::string& why) const;

  // What the system refused to jobs, by the audit, the oldest first: "USER, JOB: WHY".
  std::vector<std::string> denials() const;

  // 'R', 'S', 'T', ...
  static char state_of(pid_t pid);

  struct Found {
    pid_t pid = 0;
    std::string line;
  };
  static std::vector<Found> processes_of(unsigned uid, const std::string& with = "");
  static void wait_for_none_of(unsigned uid, const std::string& with = "");
  void wait_for(const std::string& user, const std::string& job, const std::string& state) const;

  const std::map<std::string, unsigned> people_ = {
      {"holon", kInstance}, {"ann", kAnn}, {"bob", kBob}, {"eve", kEve}};
  std::optional<Sandbox> sandbox_;
  std::optional<PrivateUsers> users_;
  std::string uri_;
  bool is_over_ = false;
};

}  // namespace holon::system_test
