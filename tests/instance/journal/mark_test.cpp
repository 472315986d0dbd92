// The mark beside a journal, and what of it a kill leaves.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "instance/journal/mark.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

class MarkFile {
 public:
  MarkFile() {
    std::string name = fs::temp_directory_path() / "holon-mark-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~MarkFile() { fs::remove_all(dir_); }
  MarkFile(const MarkFile&) = delete;
  MarkFile& operator=(const MarkFile&) = delete;

  const std::string& dir() const { return dir_; }
  std::string file() const { return dir_ + "/instance.mark"; }

  // Arrays in another order than that of their numbers.
  void fill() const {
    fs::remove(file());
    auto mark = JournalMark::open(dir_);
    ASSERT_TRUE(mark);
    mark->write({"it", 7, 1, 900, "boot"});
    for (const std::uint64_t array : {300u, 100u, 600u, 200u, 500u, 400u})
      mark->keep({array, array + 10, array + 20});
  }

 private:
  std::string dir_;
};

std::vector<std::uint64_t> arrays_in(const std::string& dir) {
  std::vector<std::uint64_t> arrays;
  const auto mark = JournalMark::open(dir);
  EXPECT_TRUE(mark && mark->found());
  for (const KeptNumbers& kept : mark->kept()) {
    arrays.push_back(kept.array);
    EXPECT_EQ(kept, (KeptNumbers{kept.array, kept.array + 10, kept.array + 20}));
  }
  return arrays;
}

// Forgets all but three, and is killed as it enters or leaves its nth system call. False: it came
// to its end before that; nullopt: processes cannot be traced here.
std::optional<bool> is_killed_at(const std::string& dir, int call) {
  const pid_t child = fork();
  if (child == 0) {
    auto mark = JournalMark::open(dir);
    if (!mark || ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    mark->forget_kept_but(3);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  for (int stop = 0; stop < call; ++stop) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return false;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return true;
}

TEST(JournalMark, ForgetsTheOldestArrays) {
  const MarkFile mark;
  mark.fill();
  {
    auto open = JournalMark::open(mark.dir());
    ASSERT_TRUE(open);
    open->forget_kept_but(4);
    open->keep({600, 610, 620});  // each is where it is now looked for
    open->keep({700, 710, 720});
  }
  EXPECT_EQ(arrays_in(mark.dir()), (std::vector<std::uint64_t>{300, 400, 500, 600, 700}));
}

TEST(JournalMark, ForgetsADamagedLineAndNoOther) {
  const MarkFile mark;
  mark.fill();
  const auto size = fs::file_size(mark.file());
  {
    std::fstream file(mark.file(), std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(size - 4 * 96));
    file << "6";  // 600 becomes another number, without its checksum
    file.seekp(static_cast<std::streamoff>(size - 4 * 96 + 1));
    file << "7";
  }
  {
    auto open = JournalMark::open(mark.dir());
    ASSERT_TRUE(open);
    open->forget_kept_but(10);
  }
  EXPECT_EQ(fs::file_size(mark.file()), size - 96);
  EXPECT_EQ(arrays_in(mark.dir()), (std::vector<std::uint64_t>{100, 200, 300, 400, 500}));
}

TEST(JournalMark, LosesNoArrayToAKillWhileItForgetsOthers) {
  const MarkFile mark;
  bool was_killed = true;
  int call = 0;
  for (; was_killed; ++call) {
    mark.fill();
    const auto killed = is_killed_at(mark.dir(), call);
    if (!killed) GTEST_SKIP() << "processes cannot be traced here";
    was_killed = *killed;
    auto arrays = arrays_in(mark.dir());
    if (arrays.size() > 3) arrays.erase(arrays.begin(), arrays.end() - 3);
    EXPECT_EQ(arrays, (std::vector<std::uint64_t>{400, 500, 600})) << "killed at stop " << call;
  }
  EXPECT_GT(call, 4);
  EXPECT_EQ(arrays_in(mark.dir()), (std::vector<std::uint64_t>{400, 500, 600}));
}

}  // namespace
}  // namespace holon::instance
