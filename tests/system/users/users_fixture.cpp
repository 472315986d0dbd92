#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {

std::string Users::text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string Users::refusal_of(const std::string& user, const std::string& path,
                              resource::JobShape shape, const std::string& named) const {
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

std::string Users::trimmed(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

unsigned Users::owner_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_uid : ~0U;
}

void Users::SetUp() {
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

void Users::TearDown() {
  if (!uri_.empty() && !is_over_) {
    const Ran ended = as("root", {"shutdown"});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  for (const auto& [name, uid] : people_) wait_for_none_of(uid);
  if (sandbox_) wait_for_none_of(0, folder());  // its starter and keepers
  users_.reset();
  sandbox_.reset();
}

std::vector<std::string> Users::start_words(std::vector<std::string> more) const {
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

void Users::start(std::vector<std::string> more) {
  const Ran ran = sandbox_->run(start_words(std::move(more)));
  ASSERT_EQ(ran.code, 0) << ran.err << text_of(state_dir() + "/instance.log");
  uri_ = trimmed(ran.out);
}

Process Users::starts(const std::string& user, std::vector<std::string> command,
                      std::map<std::string, std::string> more) const {
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

Ran Users::as(const std::string& user, std::vector<std::string> words) const {
  words.insert(words.begin(), HOLON_BINARY);
  return starts(user, std::move(words)).finish();
}

Ran Users::shell_as(const std::string& user, const std::string& script) const {
  return starts(user, {"sh", "-c", script}).finish();
}

std::string Users::ok(const std::string& user, const std::vector<std::string>& words) const {
  const Ran ran = as(user, words);
  EXPECT_EQ(ran.code, 0) << user << ": " << testing::PrintToString(words) << ran.out << ran.err;
  return trimmed(ran.out);
}

nlohmann::json Users::json(const std::string& user, std::vector<std::string> words) const {
  words.emplace_back("--json");
  return nlohmann::json::parse(ok(user, words), nullptr, false);
}

bool Users::was_refused(const std::string& user, const std::string& topic,
                        const std::string& why) const {
  const auto audit = json("eve", {"audit", "--refused"});
  for (const auto& entry : audit["entries"])
    if (entry["user"] == user && entry["topic"] == topic &&
        entry["refused"].get<std::string>().find(why) != std::string::npos)
      return true;
  return false;
}

std::vector<std::string> Users::denials() const {
  std::vector<std::string> found;
  const auto audit = json("eve", {"audit", "--refused"});
  const auto text = [](const nlohmann::json& word) { return word.get<std::string>(); };
  for (const auto& entry : audit["entries"])
    if (entry["topic"] == "agent.start")
      found.push_back(text(entry["user"]) + ", " + text(entry["what"]) + ": " +
                      text(entry["refused"]));
  return found;
}

char Users::state_of(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? '?' : stat[end + 2];
}

std::vector<Users::Found> Users::processes_of(unsigned uid, const std::string& with) {
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

void Users::wait_for_none_of(unsigned uid, const std::string& with) {
  for (int i = 0; i < 3'000 && !processes_of(uid, with).empty(); ++i) poll(nullptr, 0, 10);
  for (const auto& left : processes_of(uid, with)) {
    ADD_FAILURE() << "left behind: " << left.pid << " " << left.line;
    kill(left.pid, SIGKILL);
  }
}

void Users::wait_for(const std::string& user, const std::string& job,
                     const std::string& state) const {
  for (int i = 0; i < 3'000; ++i) {
    const auto jobs = json(user, {"jobs", "-a", job});
    if (jobs["jobs"].size() == 1 && jobs["jobs"][0]["state"] == state) return;
    poll(nullptr, 0, 10);
  }
  ADD_FAILURE() << "job " << job << " is not " << state;
}

}  // namespace holon::system_test
