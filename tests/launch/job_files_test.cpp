// Folders that go with a job: whose they are, when they go, and what else is in the place where
// they are made.
#include "launch/files/job_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>

#include "base/descriptors/passing.hpp"
#include "launch/files/place_files.hpp"
#include "launch/tasks/in_memory.hpp"
#include "tests/launch/fixture.hpp"
#include "transport/codec/codec.hpp"

namespace holon::launch {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

class JobFolders : public ProcessTest {
 protected:
  std::vector<std::string> entries() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(dir_))
      all.push_back(entry.path().filename().string());
    return all;
  }
  // As by an agent that was killed. Returns the folder.
  std::string left_behind(const std::string& kind = kFilesFolder) const {
    auto folder = JobFolder::create(kind, dir_);
    EXPECT_TRUE(folder);
    fs::create_directories(folder->path() + "/a/b");
    folder->disown();
    return folder->path();
  }
};

TEST_F(JobFolders, GoWithTheirJobAndWithWhatIsInThem) {
  {
    const auto folder = JobFolder::create(kFilesFolder, dir_);
    ASSERT_TRUE(folder) << to_string(folder.error());
    fs::create_directories(folder->path() + "/a/b");
    EXPECT_EQ(fs::status(folder->path()).permissions(), fs::perms::owner_all);
    EXPECT_TRUE(fs::exists(folder->lock_path()));
  }
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(JobFolders, ThatNobodyHoldsAreRemovedAndOthersStay) {
  const auto held = JobFolder::create(kFilesFolder, dir_);
  ASSERT_TRUE(held);
  fs::permissions(left_behind() + "/a", fs::perms::none);
  EXPECT_EQ(entries().size(), 4U);
  JobFolder::remove_left(kFilesFolder, dir_);
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_TRUE(fs::exists(held->path()));
  EXPECT_TRUE(fs::exists(held->lock_path()));
}

// Somebody's results, another node's running job on a file system whose locks are a node's own, and
// another kind of folder.
TEST_F(JobFolders, ThatAreNoneOfOursStayWithoutALock) {
  const std::string left = left_behind();
  const std::string name = fs::path(left).filename().string();
  const std::string prefix = name.substr(0, name.size() - 6), there = dir_ + "/";
  std::vector<std::string> folders = {
      "holon-job-results",          "holon-job-abcdef",
      prefix + "results",           prefix + "abcdef",
      "holon-job-othernode-abcdef", "holon-mpi-" + prefix.substr(10) + "abcdef"};
  for (const std::string& folder : folders) fs::create_directories(there + folder + "/data");
  for (const std::string& folder : {folders[2], folders[4], folders[5]})
    std::ofstream(there + "." + folder + ".lock");
  JobFolder::remove_left(kFilesFolder, dir_);
  for (const std::string& folder : folders) EXPECT_TRUE(fs::exists(there + folder + "/data"));
}

// The lock of a file that is open for writing is one that NFS gives, too.
TEST_F(JobFolders, AreLockedByAFileThatIsOpenForWriting) {
  const auto folder = JobFolder::create(kFilesFolder, dir_);
  ASSERT_TRUE(folder);
  EXPECT_EQ(fcntl(folder->lock(), F_GETFL) & O_ACCMODE, O_RDWR);
  const transport::UniqueFd again(open(folder->lock_path().c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_NE(flock(again.get(), LOCK_EX | LOCK_NB), 0);
}

// Who removes what is old in /tmp asks for this lock first.
bool is_left_alone(const std::string& folder) {
  const transport::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(fd);
  return flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

TEST_F(JobFolders, AreLeftAloneByWhoeverRemovesWhatIsOld) {
  std::optional<JobFolder> folder(std::move(*JobFolder::create(kFilesFolder, dir_)));
  const std::string path = folder->path();
  EXPECT_TRUE(is_left_alone(path));
  folder->disown();
  folder.reset();
  EXPECT_FALSE(is_left_alone(path));
  JobFolder::remove_left(kFilesFolder, dir_);
  EXPECT_THAT(entries(), IsEmpty());
}

// Its process, which has made it as the user, is gone by then.
TEST_F(JobFolders, OfAnotherUserStayLockedWithTheAgent) {
  msg::Program program;
  program.files = {{"fit.toml", 0600, "rate = 3\n"}};
  const auto request = in_memory("files", transport::pack(program));
  ASSERT_TRUE(request);
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const transport::UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t user = fork();
  ASSERT_GE(user, 0);
  if (user == 0) {
    dup2(request->get(), STDIN_FILENO);
    _exit(place_files_main(dir_, theirs.get()));
  }
  int status = 0;
  ASSERT_EQ(waitpid(user, &status, 0), user);
  EXPECT_EQ(status, 0);
  std::optional<JobFolder> folder;
  auto taken = take_placed_files(ours.get(), dir_);
  ASSERT_TRUE(taken) << to_string(taken.error());
  folder.emplace(std::move(*taken));
  const std::string path = folder->path();
  JobFolder::remove_left(kFilesFolder, dir_);
  EXPECT_EQ(read(path + "/fit.toml"), "rate = 3\n");
  EXPECT_TRUE(is_left_alone(path));
  folder.reset();
  EXPECT_FALSE(is_left_alone(path));
}

// Processes of this machine, of which those of a user run as this one's, and those that would be a
// program of ours are what the test says.
class OneUser : public Processes {
 public:
  OneUser(std::unique_ptr<Processes>& real,
          std::function<std::string(const std::vector<std::string>&)> script)
      : real_(real), script_(std::move(script)) {}
  bool serves_users() const override { return true; }
  tl::expected<pid_t, SpawnError> spawn(const SpawnRequest& request) override {
    if (!refused_.empty()) return tl::unexpected(SpawnError{126, refused_, denied_});
    users_.push_back(request.user);
    const std::string script = script_(request.argv);
    const std::vector<std::string> shell = {"/bin/sh", "-c", script};
    SpawnRequest as_this{script.empty() ? request.argv : shell, request.env, request.cwd};
    as_this.in = request.in;
    as_this.wire_up = request.wire_up;
    return real_->spawn(as_this);
  }
  std::uint64_t start_of(pid_t process) const override { return real_->start_of(process); }
  Result<transport::Subscription> on_end(pid_t process,
                                         std::function<void(const transport::ChildExit&)> ended,
                                         std::function<void()> before_reap) override {
    return real_->on_end(process, std::move(ended), std::move(before_reap));
  }
  void signal_group(pid_t leader, int signal) override { real_->signal_group(leader, signal); }
  std::size_t kill_sessions(const std::vector<msg::ProcessId>& leaders,
                            const std::string& prefix) override {
    return real_->kill_sessions(leaders, prefix);
  }
  void refuse(std::string why, bool denied = false) {
    refused_ = std::move(why);
    denied_ = denied;
  }
  const std::vector<std::string>& users() const { return users_; }  // of what was started

 private:
  std::string refused_;
  bool denied_ = false;
  std::vector<std::string> users_;
  std::unique_ptr<Processes>& real_;
  std::function<std::string(const std::vector<std::string>&)> script_;
};

bool is_removal_of_left(const std::vector<std::string>& argv) {
  return argv.size() == 4 && argv[1] == "files" && argv[2] == "--left";
}

class FilesOfAJob : public JobFolders {
 protected:
  void SetUp() override {
    JobFolders::SetUp();
    auto real = own_processes(*reactor_);
    ASSERT_TRUE(real);
    real_ = std::move(*real);
  }
  std::unique_ptr<JobFiles> files_of(const std::string& user) {
    return std::make_unique<JobFiles>(*reactor_, processes_, *job_, user, "");
  }
  std::optional<std::string> said_;
  std::optional<Errc> code_;  // of what place() said; nothing: they are there
  std::function<void(const std::string&)> hear() {
    said_.reset();
    return [this](const std::string& trouble) { said_ = trouble; };
  }
  std::function<void(const Status&)> hear_status() {
    said_.reset();
    return [this](const Status& how) {
      code_ = how ? std::nullopt : std::optional(how.error().code);
      said_ = how ? "" : to_string(how.error());
    };
  }
  bool is_said() {
    return reactor_->run_until([this] { return said_.has_value(); }, kPatience);
  }

  std::unique_ptr<Processes> real_;
  std::vector<std::vector<std::string>> ran_;
  std::string script_ = ":";
  std::function<void()> remove_left_ = [this] { JobFolder::remove_left(kFilesFolder, dir_); };
  OneUser processes_{real_, [this](const std::vector<std::string>& argv) {
                       ran_.push_back(argv);
                       if (!is_removal_of_left(argv)) return script_;
                       remove_left_();
                       return std::string(":");
                     }};
  ProcessTracking tracking_{"", ""};
  std::unique_ptr<JobProcesses> job_ = tracking_.track(1);
  const std::vector<msg::File> one_ = {{"fit.toml", 0600, "rate = 3\n"}};
};

// Between making its folder and saying so: nobody knows its name then.
TEST_F(FilesOfAJob, GoAfterACancelWhileTheyAreWritten) {
  script_ = "exec sleep 1000";
  const auto files = files_of("ann");
  files->place(one_, hear_status());
  const auto writer = static_cast<pid_t>(files->process().pid);
  ASSERT_GT(writer, 0);
  left_behind();  // as by that process, once it is killed
  files->stop();
  EXPECT_EQ(waitpid(writer, nullptr, 0), writer);
  ASSERT_TRUE(files->remove(hear()));
  ASSERT_TRUE(is_said());
  EXPECT_EQ(said_, "");
  EXPECT_THAT(entries(), IsEmpty());
}

// The agent's loop waits for no removal that a process was too slow for, or could not do.
TEST_F(FilesOfAJob, ThatCouldNotBeRemovedAreLeftToTheNextAgent) {
  auto files = files_of("");
  files->place(one_, hear_status());
  ASSERT_TRUE(is_said());
  ASSERT_EQ(said_, "");
  const std::string path = files->path();
  std::ofstream(path + "/more") << "x\n";
  script_ = "exit 3";
  ASSERT_TRUE(files->remove(hear()));
  ASSERT_TRUE(is_said());
  EXPECT_EQ(said_, "the removal of its files ended with exit code 3");
  files.reset();
  EXPECT_TRUE(fs::exists(path + "/more"));
  JobFolder::remove_left(kFilesFolder, dir_);
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(FilesOfAJob, AreRemovedWithWhatTasksHaveLeftInThem) {
  const auto files = files_of("");
  files->place(one_, hear_status());
  ASSERT_TRUE(is_said());
  fs::create_directories(files->path() + "/deep/er");
  fs::permissions(files->path() + "/deep", fs::perms::none);
  script_ = "";
  ASSERT_TRUE(files->remove(hear()));
  ASSERT_TRUE(is_said());
  EXPECT_EQ(said_, "");
  EXPECT_THAT(entries(), IsEmpty());
}

// Whatever its reason says.
TEST_F(FilesOfAJob, WhoseProcessCannotBeStartedSayWhyTheyAreNotThere) {
  processes_.refuse("no exit code of the starter");
  const auto files = files_of("ann");
  files->place(one_, hear_status());
  ASSERT_TRUE(is_said());
  EXPECT_THAT(*said_, ::testing::EndsWith("no exit code of the starter"));
  EXPECT_EQ(code_, Errc::system);
  EXPECT_FALSE(files->remove(hear()));
}

TEST_F(FilesOfAJob, OfAUserWhoMayHaveNoProcessAreDenied) {
  processes_.refuse("the starter refuses: nobody has this name", true);
  const auto files = files_of("ann");
  files->place(one_, hear_status());
  ASSERT_TRUE(is_said());
  EXPECT_EQ(code_, Errc::denied);
}

// As `holon files` does it, by a process of a user whom the folder's permissions keep out.
Result<JobFolder> place_without_rights(const std::string& base) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const transport::UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(3);
    int request[2];
    const std::string bytes = transport::pack(msg::Program());
    if (pipe2(request, O_CLOEXEC) != 0 || dup2(request[0], STDIN_FILENO) < 0 ||
        write(request[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      _exit(3);
    close(request[1]);
    _exit(place_files_main(base, theirs.get()));
  }
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return take_placed_files(ours.get(), base);
}

TEST_F(JobFolders, ThatTheUserMayNotMakeAreDenied) {
  fs::permissions(dir_, fs::perms::owner_read | fs::perms::owner_exec);
  const auto folder = place_without_rights(dir_);
  fs::permissions(dir_, fs::perms::owner_all);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Errc::denied);
  EXPECT_THAT(folder.error().what, ::testing::EndsWith("Permission denied"));
}

TEST_F(JobFolders, ThatCannotBeMadeWhereNothingIsAreNotDenied) {
  fs::permissions(dir_, fs::perms(0755));
  const auto folder = place_without_rights(dir_ + "/gone");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Errc::system);
  EXPECT_THAT(folder.error().what, ::testing::EndsWith("No such file or directory"));
}

// It may send what it likes: nothing stays open for it in the agent.
TEST_F(JobFolders, OfAUserWhoSendsMoreThanItsLocksAreNotTakenOver) {
  const std::string sentence = "+" + left_behind();
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const transport::UniqueFd ours(ends[0]), theirs(ends[1]);
  const auto bytes = std::as_bytes(std::span(sentence));
  for (const std::size_t sent : {3UL, 5UL}) {
    const std::vector<int> locks(sent, theirs.get());
    ASSERT_TRUE(send_with_descriptors(theirs.get(), bytes, locks));
    const auto before = transport::free_descriptors();
    const auto taken = take_placed_files(ours.get(), dir_);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Errc::not_found) << to_string(taken.error());
    EXPECT_EQ(transport::free_descriptors(), before);
  }
  const std::vector<int> lock = {theirs.get()};
  ASSERT_TRUE(send_with_descriptors(theirs.get(), bytes, lock));
  EXPECT_TRUE(take_placed_files(ours.get(), dir_));
}

TEST_F(FilesOfAJob, OfKilledAgentsAreRemovedByAProcess) {
  left_behind();
  bool is_told = false;
  remove_left_ = [&] { is_told = true; };
  const LeftFiles left(processes_, tracking_, {dir_});
  EXPECT_TRUE(is_told);
  EXPECT_EQ(entries().size(), 2U) << "not by the agent itself";
}

// What processes shared in memory is the agent's own, also where tasks are other users'.
TEST_F(FilesOfAJob, OfMpiProgramsGoInTheSameWay) {
  left_behind(kMemoryFolder);
  remove_left_ = [this] { remove_files_main(dir_); };
  const LeftFiles left(processes_, tracking_, {dir_});
  EXPECT_EQ(processes_.users(), std::vector<std::string>{""});
  EXPECT_THAT(entries(), IsEmpty());
}

}  // namespace
}  // namespace holon::launch
