// More of what users of one instance try: names of files that are something else, processes of
// others, variables and requests that no command makes.
#include <gmock/gmock.h>

#include "tests/system/users/users_fixture.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Tricks : public Users {
 protected:
  // A file of bob's that says "bob's", in a folder where everybody may write.
  std::string file_of_bob(const std::string& folder_name) const {
    const std::string open = folder() + "/" + folder_name;
    fs::create_directory(open);
    EXPECT_EQ(chmod(open.c_str(), 01777), 0);
    EXPECT_EQ(
        shell_as("bob", "echo \"bob's\" > " + open + "/file; chmod 600 " + open + "/file").code, 0);
    return open + "/file";
  }
};

TEST_F(Tricks, FilesThatAreAnothersStayTheirsByWhateverName) {
  start();
  const std::string file = file_of_bob("open"), own = home_of("ann") + "/other-name";
  // A second name in her own folder (where the kernel lets her make one), one by /proc, one with
  // dots, one behind a link in the folder that is open to all.
  (void)shell_as("ann", "ln " + file + " " + own);
  ASSERT_EQ(shell_as("ann", "ln -s " + file + " " + folder() + "/open/link").code, 0);
  const std::string roundabout = folder() + "/open/../open/./file";
  for (const std::string& name :
       {own, "/proc/self/root" + file, roundabout, folder() + "/open/link", file}) {
    if (name == own && !fs::exists(own)) continue;
    const Ran ran = as("ann", {"run", "--output", name, "echo", "ann's"});
    EXPECT_NE(ran.code, 0) << name;
    EXPECT_EQ(text_of(file), "bob's\n") << name;
    EXPECT_EQ(owner_of(file), kBob) << name;
    const Ran input = as("ann", {"run", "--input", name, "cat"});
    EXPECT_THAT(input.out, Not(HasSubstr("bob's"))) << name;
  }
  // Nor may a file be put aside that is not hers, where a folder has a sticky bit.
  EXPECT_NE(as("ann", {"run", "mv", file, file + ".old"}).code, 0);
}

// What is open in the processes that open files for users is not to be had by its name there.
TEST_F(Tricks, DescriptorsOfTheOpenerAreNotOpenedAgain) {
  start();
  for (const int number : {3, 4, 10, 11, 12}) {  // 0 to 2 are /dev/null there
    const std::string name = "/proc/self/fd/" + std::to_string(number);
    const Ran out = as("ann", {"run", "--output", name, "echo", "written-by-ann"});
    EXPECT_NE(out.code, 0) << name;
    EXPECT_NE(as("ann", {"run", "--input", name, "cat"}).code, 0) << name;
  }
  EXPECT_NE(as("ann", {"run", "--input", "/proc/self/mem", "cat"}).code, 0);
  EXPECT_NE(as("ann", {"run", "--input", "/proc/self/environ", "cat"}).code, 0);
  EXPECT_THAT(text_of(state_dir() + "/instance.log"), Not(HasSubstr("written-by-ann")));
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");
}

// Whoever names a pipe that nobody reads has a job that fails, and nobody else waits for it.
TEST_F(Tricks, APipeAsOutputHoldsNobodyUp) {
  start();
  ASSERT_EQ(shell_as("ann", "mkfifo pipe silent").code, 0);
  EXPECT_EQ(as("ann", {"run", "--output", home_of("ann") + "/silent", "id"}).code, 126);
  Process reader = starts("ann", {"cat", home_of("ann") + "/pipe"});
  for (int i = 0; i < 1'000; ++i) {
    if (as("ann", {"run", "--output", home_of("ann") + "/pipe", "echo", "through"}).code == 0)
      break;
    poll(nullptr, 0, 10);
  }
  EXPECT_EQ(reader.finish().out, "through\n");
  EXPECT_EQ(ok("bob", {"run", "id", "-un"}), "bob");
}

TEST_F(Tricks, ProcessesOfOthersAndOfTheInstanceAreClosed) {
  start();
  const std::string job = ok("bob", {"submit", "--env", "SECRET=of-bob", "sleep", "1007"});
  for (int i = 0; i < 1'000 && processes_of(kBob, "sleep 1007").empty(); ++i) poll(nullptr, 0, 10);
  std::string pids = std::to_string(processes_of(kBob, "sleep 1007").at(0).pid);
  for (const char* name : {"holon broker", "holon agent"})
    pids += " " + std::to_string(processes_of(kInstance, name).at(0).pid);
  const std::string look =
      "for p in " + pids +
      " $PPID; do cat /proc/$p/environ /proc/$p/mem /proc/$p/maps 2>/dev/null | head -c 1; "
      "ls /proc/$p/fd /proc/$p/cwd/ 2>/dev/null; for s in KILL STOP TERM USR1; do kill -$s $p "
      "2>/dev/null && echo sent; done; done; echo looked";
  EXPECT_EQ(ok("ann", {"run", "sh", "-c", look}), "looked");
  if (fs::exists("/usr/bin/strace")) {
    EXPECT_NE(as("ann", {"run", "sh", "-c", "strace -p $PPID"}).code, 0);
  }
  if (fs::exists("/usr/bin/python3")) {
    const std::string trace =
        "import ctypes,os,sys\nlibc=ctypes.CDLL(None,use_errno=True)\n"
        "for p in [os.getppid()]+[int(x) for x in sys.argv[1].split()]:\n"
        "  for request in (16, 0x4206):\n"
        "    if libc.ptrace(request,p,0,0)==0: print('traced',p)\nprint('tried')";
    EXPECT_EQ(ok("ann", {"run", "python3", "-c", trace, pids}), "tried");
  }
  EXPECT_EQ(state_of(processes_of(kBob, "sleep 1007").at(0).pid), 'S');
  ok("bob", {"cancel", job});
}

// The variables that a task or a child goes by are those that the instance gives it.
TEST_F(Tricks, VariablesThatAreForgedGiveNothing) {
  start();
  const std::string child = ok("bob", {"alloc", "--bg", "-n", "2"});
  std::vector<std::string> words = {"run"};
  for (const std::string& variable :
       {"HOLON_JOB_PATH=/" + child, "HOLON_JOB_ID=" + child, "HOLON_PARENT_URI=" + uri_,
        std::string("HOLON_TOKEN=00000000000000000000000000000000"),
        "HOLON_STATE_DIR=" + state_dir(), "XDG_RUNTIME_DIR=" + folder() + "/all",
        std::string("HOLON_INVITATION={}"), "HOME=" + home_of("bob"), std::string("USER=bob"),
        std::string("LOGNAME=bob")})
    words.insert(words.end(), {"--env", variable});
  auto id = words;
  id.insert(id.end(), {"id", "-un"});
  EXPECT_EQ(ok("ann", id), "ann");
  auto begin = words;
  begin.insert(begin.end(), {HOLON_BINARY, "start", "--grant", "--bg"});
  EXPECT_NE(as("ann", begin).code, 0);
  auto submits = words;
  submits.insert(submits.end(), {HOLON_BINARY, "submit", "id"});
  EXPECT_EQ(as("ann", submits).code, 0);  // as who she is
  EXPECT_EQ(json("bob", {"jobs", "-a"})["jobs"].size(), 1U);
  EXPECT_NE(as("ann", {"run", HOLON_BINARY, "-i", "/" + child, "jobs"}).code, 0);
  EXPECT_EQ(ok("bob", {"-i", "/" + child, "run", "id", "-un"}), "bob");
}

TEST_F(Tricks, RequestsThatNoCommandMakesAreRefused) {
  start();
  resource::JobShape relative;
  relative.command = {"pwd"};
  relative.cwd = "../../root";
  (void)refusal_of("ann", "", relative);  // it may be refused now, or when it starts
  // The exit code is that of the job, if it was not over yet.
  (void)as("ann", {"job", "wait", "--all"});
  const auto jobs = json("ann", {"jobs", "-a"});
  for (const auto& job : jobs["jobs"]) EXPECT_EQ(job["result"], "FAILED");
  resource::JobShape plain;
  plain.command = {"true"};
  plain.cwd = "/";
  for (const char* name : {"bob", "root", "holon", "eve", "../bob", "ann\nbob", "61002"})
    EXPECT_THAT(refusal_of("ann", "", plain, name), HasSubstr("by the kernel's word")) << name;
  EXPECT_TRUE(was_refused("ann", "submit", "by the kernel's word"));
  EXPECT_THAT(json("bob", {"jobs", "-a"})["jobs"], IsEmpty());
}

// What stands in the way of a job is told, but not what it is.
TEST_F(Tricks, WhyAJobWaitsTellsNothingOfOthersJobs) {
  start();
  ok("bob", {"submit", "--name", "bobs-secret", "-n", "6", "-t", "1h", "sleep", "1000"});
  const std::string job = ok("ann", {"submit", "-n", "6", "-t", "1h", "true"});
  const std::string told = ok("ann", {"explain", job});
  EXPECT_THAT(told, HasSubstr("of another user"));
  EXPECT_THAT(told, Not(HasSubstr("bobs-secret")));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"explain", job, "--json"},
                                                {"jobs", "-a", "-R"},
                                                {"tree"},
                                                {"users"},
                                                {"history"},
                                                {"job", "info", job},
                                                {"windows"},
                                                {"resource", "list"}}) {
    const Ran ran = as("ann", words);
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("bobs-secret"))) << words.front();
    EXPECT_THAT(ran.out, Not(HasSubstr("\"bob\""))) << words.front();
  }
  // Nor how it ends, to who would wait for it.
  EXPECT_THAT(as("ann", {"submit", "--dependency", "afterok:1", "true"}).err,
              HasSubstr("another user's"));
  ok("ann", {"submit", "--dependency", "afterany:" + job, "true"});
  ok("bob", {"submit", "--dependency", "afterok:1", "true"});
  EXPECT_THAT(ok("eve", {"explain", job}), HasSubstr("bobs-secret"));
  ok("eve", {"cancel", "--all"});
}

// What a job writes is as private as what its user writes: the umask of who submits goes along.
TEST_F(Tricks, TheUmaskOfWhoSubmitsGoesAlong) {
  start();
  const auto mode = [](const std::string& file) {
    struct stat info {};
    return lstat(file.c_str(), &info) == 0 ? info.st_mode & 0777U : ~0U;
  };
  const Ran ran =
      shell_as("ann", "umask 077; $HOLON run --output ~/private sh -c 'umask; : > made'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(text_of(home_of("ann") + "/private"), "0077\n");
  EXPECT_EQ(mode(home_of("ann") + "/private"), 0600U);
  EXPECT_EQ(mode(home_of("ann") + "/made"), 0600U);
  const std::string usual =
      ok("ann", {"submit", "--output", home_of("ann") + "/usual", "sh", "-c", "umask"});
  ok("ann", {"job", "wait", usual});
  EXPECT_EQ(text_of(home_of("ann") + "/usual"), "0022\n");
  EXPECT_EQ(mode(home_of("ann") + "/usual"), 0644U);
  const Ran child = shell_as("ann", "umask 027; $HOLON alloc -n 1 $HOLON run sh -c umask");
  EXPECT_EQ(child.out, "0027\n") << child.err;
}

}  // namespace
}  // namespace holon::system_test
