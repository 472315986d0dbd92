// Small files that go along with a job (--add-file): where its tasks find them, and that nothing of
// them is left whatever becomes of the job, its agent and its instance.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class AddedFiles : public testing::Test {
 protected:
  AddedFiles() : instance_(std::make_unique<Instance>(sandbox_, options())) {
    sandbox_.write_file("fit.toml", "rate = 3\n");
  }
  ~AddedFiles() override {
    EXPECT_THAT(folders(), testing::IsEmpty());
    EXPECT_TRUE(eventually([this] { return names("holon-job-").empty(); })) << "their locks";
  }

  std::vector<std::string> options() const {
    return {"--resources", "node=1/core=4", "--state-dir", sandbox_.folder() + "/kept"};
  }
  // With this in them, of what is where folders of jobs are.
  std::vector<std::string> names(const std::string& part) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(sandbox_.folder() + "/tmp"))
      if (entry.path().string().find(part) != std::string::npos)
        all.push_back(entry.path().string());
    return all;
  }
  std::vector<std::string> folders() const { return names("/holon-job-"); }
  std::string kill_the(const std::string& process) {
    for (const pid_t pid : sandbox_.processes({"holon " + process})) kill(pid, SIGKILL);
    return process;
  }
  // A job that has its file, said so, and goes on until it is ended.
  std::string waiting_job(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"submit", "--add-file", "fit.toml"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"sh", "-c",
                               "echo x >> $HOLON_JOB_TMPDIR/more; cp $HOLON_JOB_TMPDIR/fit.toml "
                               "got; [ -e go ] || exec sleep 1000"});
    fs::remove(sandbox_.folder() + "/got");
    std::string id = sandbox_.ok(words);
    id.pop_back();
    EXPECT_TRUE(eventually([&] { return sandbox_.read_file("got") == "rate = 3\n"; }));
    EXPECT_EQ(folders().size(), 1U);
    return id;
  }

  Sandbox sandbox_;
  std::unique_ptr<Instance> instance_;
};

TEST_F(AddedFiles, AreInAFolderOfTheJobsOwnWhileItRuns) {
  const std::string bytes("\0\xff\n\x80", 4);
  sandbox_.write_file("raw", bytes);
  sandbox_.write_file("go.sh", "#!/bin/sh\necho went $*\n", true);
  const Ran ran = sandbox_.run(
      {"run", "-n", "2", "--add-file", "fit.toml", "--add-file", "x:640=raw", "--add-file", "go.sh",
       "--add-file", "note=one\ntwo\n", "sh", "-c",
       "[ $HOLON_TASK_RANK = 1 ] && exit; cd $HOLON_JOB_TMPDIR; ls; cat fit.toml note; stat -c "
       "'%n %a' . x note go.sh; cp x $0/copy; mkdir -p more/and; touch more/and/more; pwd",
       sandbox_.folder()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("fit.toml\ngo.sh\nnote\nx\nrate = 3\none\ntwo\n"
                                 ". 700\nx 640\nnote 600\ngo.sh 700\n" +
                                 sandbox_.folder() + "/tmp/holon-job-"));
  EXPECT_EQ(sandbox_.read_file("copy"), bytes);
  EXPECT_EQ(sandbox_.run({"run", "--add-file", "go.sh", "{{tmpdir}}/go.sh", "on"}).out,
            "went on\n");
  EXPECT_EQ(sandbox_.run({"run", "sh", "-c", "echo [$HOLON_JOB_TMPDIR] $0", "{{tmpdir}}"}).out,
            "[] {{tmpdir}}\n");
}

TEST_F(AddedFiles, OfAnArrayAreThereForEachTaskAndKeptOnce) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += fmt::format("{}\n", i * 7919 % 99'991);
  const std::string source = sandbox_.write_file("table", text);
  fs::copy(source, source + "-then");
  const std::string id =
      sandbox_.ok({"submit", "--add-file", "table", "--array", "1-40", "sh", "-c",
                   "cmp {{tmpdir}}/table " + source + "-then && echo {{array.index}} >> seen"});
  sandbox_.write_file("table", "another one\n");  // what was submitted stays as it was
  ASSERT_TRUE(eventually([&] { return !sandbox_.read_file("seen").empty(); }));
  kill_the("broker");
  EXPECT_EQ(sandbox_.run({"job", "wait", id.substr(0, id.size() - 1)}).code, 0);
  const std::string seen = sandbox_.read_file("seen");
  EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 40);
  std::uintmax_t kept = 0;
  for (const auto& entry : fs::recursive_directory_iterator(sandbox_.folder() + "/kept"))
    if (entry.is_regular_file()) kept += entry.file_size();
  EXPECT_LT(kept, 8 * text.size()) << "once, and once in the log of the journal";
}

TEST_F(AddedFiles, GoWhenTheirJobIsCancelledOrRunsAgain) {
  std::string id = waiting_job();
  sandbox_.ok({"cancel", id});
  sandbox_.run({"job", "wait", id});
  EXPECT_THAT(folders(), testing::IsEmpty());
  id = sandbox_.ok({"submit", "--add-file", "fit.toml", "--requeue", "1", "--retry-on", "7", "sh",
                    "-c",
                    "cat $HOLON_JOB_TMPDIR/* && rm -r $HOLON_JOB_TMPDIR; [ -e once ] || { "
                    "touch once; exit 7; }"});
  sandbox_.ok({"job", "wait", id.substr(0, id.size() - 1)});
  EXPECT_EQ(sandbox_.ok({"job", "output", id.substr(0, id.size() - 1)}), "rate = 3\nrate = 3\n");
}

TEST_F(AddedFiles, GoWithAnAgentThatIsKilledWhenTheNextOneComes) {
  const std::string id = waiting_job();
  kill_the("agent");
  EXPECT_NE(sandbox_.run({"job", "wait", id}).code, 0);
  EXPECT_TRUE(eventually([this] { return folders().empty(); }));
}

TEST_F(AddedFiles, GoWithAnInstanceThatIsKilledWhenAnotherOneComes) {
  waiting_job();
  // A supervisor that went on would start the agent again, which removes what it finds.
  for (const pid_t pid : sandbox_.processes({"holon start"})) kill(pid, SIGSTOP);
  for (const char* process : {"agent", "start", "broker"}) kill_the(process);
  instance_->end();
  EXPECT_EQ(folders().size(), 1U);
  const std::string own = sandbox_.folder() + "/tmp/holon-job-results";
  fs::create_directories(own + "/of-mine");
  for (const auto& left : fs::directory_iterator(sandbox_.folder() + "/run"))
    fs::remove_all(left.path());
  sandbox_.write_file("go", "");
  instance_ = std::make_unique<Instance>(sandbox_, options());
  EXPECT_TRUE(eventually([this] { return folders().size() == 1; }));
  EXPECT_THAT(folders(), testing::ElementsAre(own));
  EXPECT_TRUE(fs::exists(own + "/of-mine"));
  fs::remove_all(own);
}

TEST_F(AddedFiles, OfAChildInstanceAreThereForItsScriptAndItsJobs) {
  const std::string ask =
      HOLON_BINARY " run sh -c 'cat $HOLON_INSTANCE_TMPDIR/fit.toml; echo [$HOLON_JOB_TMPDIR]'";
  std::string id = sandbox_.ok({"batch", "-n", "1", "--add-file", "fit.toml", "--wrap",
                                "cat $HOLON_JOB_TMPDIR/fit.toml && " + ask});
  id.pop_back();
  EXPECT_EQ(sandbox_.run({"job", "wait", id}).code, 0);
  EXPECT_EQ(sandbox_.ok({"job", "output", id}), "rate = 3\nrate = 3\n[]\n");
  const Ran inside = sandbox_.run({"alloc", "-n", "1", "--add-file", "fit.toml", "sh", "-c", ask});
  EXPECT_EQ(inside.out, "rate = 3\n[]\n") << inside.err;
}

TEST_F(AddedFiles, StandInJobspecsAndInFilesOfTasks) {
  const std::string spec =
      sandbox_.ok({"submit", "--dry-run", "--add-file", "fit.toml", "--add-file",
                   "raw=" + sandbox_.write_file("r", "\xff\xfe"), "sh", "-c",
                   "cd {{tmpdir}}; cat fit.toml; cmp raw $0/r", sandbox_.folder()});
  const auto files = nlohmann::json::parse(spec)["attributes"]["system"]["files"];
  EXPECT_EQ(files["fit.toml"]["data"], "rate = 3\n");
  EXPECT_EQ(files["fit.toml"]["encoding"], "utf-8");
  EXPECT_EQ(files["raw"]["data"], "//4=");
  sandbox_.write_file("spec.json", spec);
  fs::remove(sandbox_.folder() + "/fit.toml");
  EXPECT_EQ(sandbox_.ok({"submit", "--jobspec", "spec.json"}), "1\n");
  EXPECT_EQ(sandbox_.run({"job", "wait", "1"}).code, 0);
  EXPECT_EQ(sandbox_.ok({"job", "output", "1"}), "rate = 3\n");

  sandbox_.write_file("fit.toml", "rate = 4\n");
  sandbox_.write_file("campaign.toml",
                      "[[task]]\nname = 'fit'\nadd-file = ['fit.toml', 'b=r']\nshell = 'cat "
                      "$HOLON_JOB_TMPDIR/fit.toml; cmp $HOLON_JOB_TMPDIR/b r'\n");
  EXPECT_EQ(sandbox_.ok({"submit", "--file", "campaign.toml"}), "fit 2\n");
  EXPECT_EQ(sandbox_.run({"job", "wait", "2"}).code, 0);
  EXPECT_EQ(sandbox_.ok({"job", "output", "2"}), "rate = 4\n");
  sandbox_.write_file("campaign.toml",
                      "[[task]]\nname = 'fit'\nadd-file = 'none.toml'\ncommand = ['true']\n");
  EXPECT_THAT(sandbox_.run({"submit", "--file", "campaign.toml"}).err,
              HasSubstr("campaign.toml:3, task fit: --add-file: none.toml: No such file"));
}

TEST_F(AddedFiles, AreRefusedWithWhatWasFoundAndWhatIsAccepted) {
  sandbox_.write_file("large", std::string((1 << 20) + 1, 'x'));
  sandbox_.write_file("half", std::string(600'000, 'x'));
  fs::create_directory(sandbox_.folder() + "/folder");
  struct Case {
    std::vector<std::string> files;
    std::string said;
  };
  const Case cases[] = {
      {{"none"}, "none: No such file or directory"},
      {{"folder"}, "folder"},
      {{"large"}, "large: more than 1048576 bytes"},
      {{"half", "b=half"}, "1200000 bytes in all; at most 1048576 are accepted"},
      {{"../x=fit.toml"}, "'../x' is no name of a file in the job's folder"},
      {{"/abs=fit.toml"}, "'/abs' is no name"},
      {{"..=fit.toml"}, "'..' is no name"},
      {{"=fit.toml"}, "'' is no name"},
      {{"fit.toml", "fit.toml"}, "two files are called 'fit.toml'"},
  };
  for (const Case& wrong : cases) {
    std::vector<std::string> words = {"submit"};
    for (const auto& file : wrong.files) words.insert(words.end(), {"--add-file", file});
    words.emplace_back("true");
    const Ran ran = sandbox_.run(words);
    EXPECT_EQ(ran.code, 2) << wrong.said;
    EXPECT_THAT(ran.err, HasSubstr("--add-file")) << wrong.said;
    EXPECT_THAT(ran.err, HasSubstr(wrong.said));
  }
  // By a program that writes the jobspec itself.
  auto spec = nlohmann::json::parse(sandbox_.ok({"submit", "--dry-run", "true"}));
  const nlohmann::json good = {{"mode", 33188}, {"encoding", "utf-8"}, {"data", "x"}};
  const std::pair<std::string, nlohmann::json> forged[] = {
      {"../x", good},
      {"/tmp/x", good},
      {"link", {{"mode", 41471}, {"data", "/etc/passwd"}}},
      {"folder", {{"mode", 16893}}}};
  for (const auto& [name, file] : forged) {
    spec["attributes"]["system"]["files"] = {{name, file}};
    sandbox_.write_file("spec.json", spec.dump());
    const Ran ran = sandbox_.run({"submit", "--jobspec", "spec.json"});
    EXPECT_NE(ran.code, 0) << name;
    EXPECT_THAT(ran.err, HasSubstr("accepted")) << name;
  }
  EXPECT_EQ(sandbox_.json({"jobs", "-a"})["jobs"].size(), 0U);
}

// Where there is no room or right to write them the job says so.
TEST_F(AddedFiles, ThatCannotBeWrittenEndTheirJobWithTheReason) {
  instance_.reset();
  sandbox_.environment()["TMPDIR"] = sandbox_.folder() + "/none";
  instance_ = std::make_unique<Instance>(sandbox_, options());
  const Ran ran = sandbox_.run({"run", "--add-file", "fit.toml", "true"});
  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.err, HasSubstr("cannot write the files that were added to it: " +
                                 sandbox_.folder() + "/none/holon-job-"));
  EXPECT_EQ(sandbox_.run({"run", "true"}).code, 0);
}

}  // namespace
}  // namespace holon::system_test
