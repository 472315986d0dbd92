// The log of outputs: what many small tasks wrote, without a file each.
#include "instance/output/output_log.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/instance/shared_live.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using testing::JobOptions;
using testing::Live;

JobOptions logged_tasks(std::uint64_t count) {
  JobOptions options;
  options.count = count;
  options.system = R"({"holon":{"array":{}}})";
  return options;
}

struct Printed {
  std::string out, err;
  bool good = false;
};

Printed printed_by(const Live& live, std::uint64_t id) {
  Printed printed;
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  if (!client) return printed;
  bool done = false;
  msg::AttachRequest ask;
  ask.id = id;
  client->client().open({"job.attach", transport::pack(ask), "", 30'000},
                        {[&](std::string bytes) {
                           const auto chunk = transport::unpack<msg::OutputChunk>(bytes);
                           if (chunk) (chunk->error ? printed.err : printed.out) += chunk->data;
                         },
                         [&](const Status& status) {
                           printed.good = status.has_value();
                           done = true;
                         }});
  client->reactor().run_until([&] { return done; }, 30'000);
  return printed;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

bool is_of_a_job(const std::string& name) {
  return name.front() >= '0' && name.front() <= '9';
}

TEST(OutputLogFile, KeepsEachPieceOnceAndAppends) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  for (int run = 0; run < 2; ++run) {  // of the broker
    OutputLog log(*journal, dir + "/output");
    for (std::uint64_t id = 1; id <= 5; ++id)
      ASSERT_TRUE(log.add(JobId(id + 5 * run), {fmt::format("out {}", id), std::string(id, 'e')}));
    ASSERT_TRUE(log.add(JobId(1), {"told again", ""}));
  }
  const OutputLog log(*journal, dir + "/output");
  const auto third = log.read(JobId(8));
  ASSERT_TRUE(third && *third);
  EXPECT_EQ((*third)->output, "out 3");
  EXPECT_EQ((*third)->error, "eee");
  EXPECT_EQ((*log.read(JobId(1)))->output, "out 1");
  EXPECT_FALSE(*log.read(JobId(99)));
  EXPECT_THAT(names_in(dir + "/output"), ::testing::ElementsAre("log-1"));
  fs::remove(dir + "/output/log-1");
  EXPECT_FALSE(log.read(JobId(1))) << "it is not there any more, and that is said";
  fs::remove_all(dir);
}

// A text that no other job has, of some hundred bytes.
LoggedOutput numbered(std::uint64_t id) {
  std::string text;
  while (text.size() < 100 + id % 400) text += fmt::format("line of job {}\n", id * text.size());
  return {text, id % 3 == 0 ? fmt::format("error {}\n", id) : ""};
}

std::string printed_by_command(const std::string& command) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  for (int c = 0; (c = fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  return text;
}

// Of jobs 1 .. `last` all is as they wrote it.
void expect_all_read(const OutputLog& log, std::uint64_t last) {
  for (std::uint64_t id = 1; id <= last; ++id) {
    const auto found = log.read(JobId(id));
    ASSERT_TRUE(found && *found) << id << (found ? "" : to_string(found.error()));
    EXPECT_EQ((*found)->output, numbered(id).output);
    EXPECT_EQ((*found)->error, numbered(id).error);
  }
}

TEST(OutputLogFile, AFullSegmentIsCompressedAndReadAsBefore) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data()), first = dir + "/log-1.gz";
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  constexpr std::int64_t kFull = 150'000;  // more than two blocks
  std::string all;
  {
    OutputLog log(*journal, dir, kFull);
    EXPECT_FALSE(log.turn());
    for (std::uint64_t id = 1; id <= 1'200; ++id) {
      ASSERT_TRUE(log.add(JobId(id), numbered(id)));
      if (id < 300) all += numbered(id).output + numbered(id).error;
      // Three steps while it is written, and then the broker is gone.
      EXPECT_TRUE(id < 1'198 || log.turn());
    }
    expect_all_read(log, 1'200);
    EXPECT_TRUE(fs::exists(first + ".new"));
  }
  EXPECT_FALSE(fs::exists(first + ".new")) << "nobody would go on with it";
  std::ofstream(first + ".new") << "of a broker that was killed";
  OutputLog log(*journal, dir, kFull);
  while (log.turn()) continue;
  EXPECT_THAT(names_in(dir), ::testing::UnorderedElementsAre("log-1.gz", "log-2.gz", "log-3"))
      << "also where nothing is added any more";
  ASSERT_TRUE(log.add(JobId(1'201), numbered(1'201)));
  while (log.turn()) continue;
  const auto names = names_in(dir);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("log-1.gz", "log-2.gz", "log-3"));
  expect_all_read(log, 1'201);
  EXPECT_LT(fs::file_size(first) * 3, static_cast<std::uintmax_t>(kFull));
  EXPECT_THAT(printed_by_command("zcat " + first), ::testing::StartsWith(all))
      << "people can read it, too";
  fs::resize_file(first, fs::file_size(first) - 1);
  const auto damaged = log.read(JobId(7));
  ASSERT_FALSE(damaged);
  EXPECT_THAT(to_string(damaged.error()), ::testing::HasSubstr("damaged"));
  EXPECT_TRUE(log.read(JobId(1'201)));
  fs::remove_all(dir);
}

// A broker was killed between the rename and the unlink, and a power cut took the plain file's end.
TEST(OutputLogFile, OfASegmentThatIsThereTwiceTheCompressedOneStays) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  constexpr std::int64_t kFull = 1'000;
  {
    OutputLog log(*journal, dir, kFull);
    for (std::uint64_t id = 1; id <= 20; ++id) ASSERT_TRUE(log.add(JobId(id), numbered(id)));
    while (log.turn()) continue;
    ASSERT_THAT(names_in(dir), ::testing::IsSupersetOf({"log-1.gz", "log-2.gz"}));
  }
  std::ofstream(dir + "/log-1") << numbered(1).output;
  const std::string whole = printed_by_command("zcat " + dir + "/log-2.gz");
  std::ofstream(dir + "/log-2") << whole;
  std::ofstream(dir + "/log-2.gz") << "damaged";
  OutputLog log(*journal, dir, kFull);
  ASSERT_TRUE(log.add(JobId(21), numbered(21)));
  while (log.turn()) continue;
  EXPECT_THAT(names_in(dir), ::testing::IsSupersetOf({"log-1.gz", "log-2.gz"}));
  EXPECT_FALSE(fs::exists(dir + "/log-1") || fs::exists(dir + "/log-2"));
  expect_all_read(log, 21);
  fs::remove_all(dir);
}

TEST(OutputLogFile, ASegmentThatNobodyNeedsIsNotCompressedToItsEnd) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  std::ofstream(dir + "/log-1") << std::string(3 * kPackedBlock, 'x');
  std::ofstream(dir + "/log-2") << std::string(3 * kPackedBlock, 'x');
  OutputLog log(*journal, dir, 1'000);
  ASSERT_TRUE(log.add(JobId(1), {"one", ""}));
  EXPECT_TRUE(log.turn());
  EXPECT_TRUE(log.turn());
  EXPECT_TRUE(fs::exists(dir + "/log-1.gz.new"));
  log.clean(100'000);
  EXPECT_FALSE(log.turn());
  EXPECT_THAT(names_in(dir), ::testing::ElementsAre("log-3"));
  fs::remove_all(dir);
}

TEST(OutputLogFile, WhatCannotBeOpenedIsNotSaidToBeGone) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  const OutputPlace place{JobId(1), 1, 0, 3, 0};
  EXPECT_EQ(read_logged(dir, place).error().code, Errc::not_found);
  for (const char* const file : {"/log-1.gz", "/log-1"}) {
    fs::create_symlink("itself", dir + file);
    const auto found = read_logged(dir, place);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::system);
    EXPECT_THAT(to_string(found.error()), ::testing::HasSubstr(dir + file));
  }
  fs::remove_all(dir);
}

TEST(OutputLogFile, WhatIsLeftWithAgentsIsWrittenOnceATurnAndForgottenWithItsJobs) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  OutputLog log(*journal, dir);
  for (std::uint64_t id = 1; id <= 4; ++id) log.leave_with_agent(JobId(id));
  const auto in_journal = [&] { return OutputLog(*journal, dir).is_left_with_agent(JobId(4)); };
  EXPECT_FALSE(in_journal());
  log.keep();
  EXPECT_TRUE(in_journal());
  log.forget(JobId(2), JobId(5));
  EXPECT_TRUE(log.is_left_with_agent(JobId(1)));
  EXPECT_FALSE(log.is_left_with_agent(JobId(2)));
  log.leave_with_agent(JobId(1));
  log.keep();
  EXPECT_FALSE(in_journal());
  fs::remove_all(dir);
}

TEST(OutputLogFile, WhatIsCompressedGoesWithItsJobsAndIsNotGoneOnWith) {
  std::string name = fs::temp_directory_path() / "holon-log-XXXXXX";
  const std::string dir = mkdtemp(name.data());
  auto journal = Journal::open("", Journal::Sync::normal);
  ASSERT_TRUE(journal);
  {
    OutputLog log(*journal, dir, 1'000);
    ASSERT_TRUE(log.add(JobId(1), {std::string(2'000, 'x'), ""}));
    ASSERT_TRUE(log.add(JobId(2), {"two", ""}));
    while (log.turn()) continue;
    EXPECT_THAT(names_in(dir), ::testing::UnorderedElementsAre("log-1.gz", "log-2"));
  }
  fs::remove(dir + "/log-2");
  OutputLog log(*journal, dir, 1'000);
  ASSERT_TRUE(log.add(JobId(3), {"three", ""}));
  EXPECT_EQ((*log.read(JobId(1)))->output, std::string(2'000, 'x'));
  EXPECT_EQ((*log.read(JobId(3)))->output, "three");
  EXPECT_THAT(names_in(dir), ::testing::UnorderedElementsAre("log-1.gz", "log-2"));
  std::ofstream(dir + "/log-7.gz") << "of jobs that were forgotten";
  log.clean(100'000);
  EXPECT_THAT(names_in(dir), ::testing::UnorderedElementsAre("log-1.gz", "log-2"));
  fs::remove_all(dir);
}

class LiveOutputLog : public testing::SharedLive {};

TEST_F(LiveOutputLog, ManyTasksLeaveOneFileAndEachIsRead) {
  const Live live({"--resources", "node=1/core=4"});
  const auto array = live.job(
      {"/bin/sh", "-c", "echo $HOLON_ARRAY_INDEX; [ $HOLON_ARRAY_INDEX != 7 ] || echo seven >&2"},
      logged_tasks(60));
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED");
  for (const std::uint64_t index : {1, 7, 60}) {
    const auto printed = printed_by(live, array + index);
    EXPECT_TRUE(printed.good);
    EXPECT_EQ(printed.out, fmt::format("{}\n", index));
    EXPECT_EQ(printed.err, index == 7 ? "seven\n" : "");
  }
  const auto names = names_in(live.dir() + "/state/output");
  EXPECT_TRUE(std::none_of(names.begin(), names.end(), is_of_a_job));
  EXPECT_THAT(names, ::testing::Contains("log-1"));
  live.kill_broker();
  EXPECT_EQ(printed_by(live, array + 60).out, "60\n");
}

TEST_F(LiveOutputLog, ATaskThatWritesMuchHasAFile) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto array =
      live.job({"/bin/sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"}, logged_tasks(2));
  live.wait_one(array);
  EXPECT_EQ(printed_by(live, array + 1).out, std::string(100'000, 'x'));
  const auto output = fmt::format("{}/state/output/{}", live.dir(), array + 1);
  EXPECT_TRUE(fs::exists(output + ".out"));
  EXPECT_FALSE(fs::exists(output + ".err"));
}

TEST_F(LiveOutputLog, WhatATaskOfAKilledAgentWroteIsFound) {
  const Live live({"--resources", "node=1/core=2"});
  const auto array = live.job({"/bin/sh", "-c", "echo begun; exec sleep 1000"}, logged_tasks(2));
  live.when_running(array + 1);
  live.when_running(array + 2);
  const auto has_begun = [&] {
    for (const auto& name : names_in(live.dir() + "/state/output"))
      if (name.starts_with("slots-") && name.ends_with(".out") &&
          testing::read_file(live.dir() + "/state/output/" + name) != "begun\n")
        return false;
    return true;
  };
  ASSERT_TRUE(eventually(has_begun));
  testing::signal_process(live.agent(), SIGKILL);
  live.wait({array + 1, array + 2});
  EXPECT_EQ(printed_by(live, array + 1).out, "begun\n");
  EXPECT_EQ(printed_by(live, array + 2).out, "begun\n");
}

// A folder in the place of the log's file is to the broker what a full disk is.
struct Unwritable {
  explicit Unwritable(const Live& live) : in_the_way(live.dir() + "/state/output/log-1") {
    fs::create_directories(in_the_way);
  }
  std::string in_the_way;
};

TEST_F(LiveOutputLog, WhatCannotBeWrittenStaysInFiles) {
  const Live live({"--resources", "node=1/core=2"});
  const Unwritable log(live);
  const auto reads = [&](std::uint64_t task, const std::string& want) {
    return eventually([&] { return printed_by(live, task).out == want; });
  };
  const auto array = live.job({"/bin/sh", "-c", "echo $HOLON_ARRAY_INDEX"}, logged_tasks(60));
  EXPECT_EQ(live.wait_one(array).result, "COMPLETED") << "the ends need no room in the log";
  for (const std::uint64_t index : {1, 7, 60})
    EXPECT_TRUE(reads(array + index, fmt::format("{}\n", index)));
  live.kill_broker();
  EXPECT_TRUE(reads(array + 60, "60\n"));
  fs::remove(log.in_the_way);
  const auto next = live.job({"/bin/echo", "next"}, logged_tasks(1));
  live.wait_one(next);
  EXPECT_TRUE(reads(next + 1, "next\n"));
  EXPECT_TRUE(fs::is_regular_file(log.in_the_way)) << "the log goes on";
  EXPECT_TRUE(reads(array + 1, "1\n"));
}

// The next attempt goes on with the files in which the agent has put what the first one wrote.
TEST_F(LiveOutputLog, WhatCannotBeWrittenOfAnAttemptIsBeforeTheNextOne) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  JobOptions options = logged_tasks(1);
  options.system = R"({"holon":{"array":{},"requeue":1,"retry_on":"3"}})";
  // A name that leads nowhere is no file to the broker, and is replaced by the agent's.
  const auto before = live.job({"/bin/true"});
  const auto once = fmt::format("{}/state/output/{}.out", live.dir(), before + 2);
  const auto reply = live.submit(
      {"/bin/sh", "-c", "echo run; [ -e " + once + " ] || { ln -s nowhere " + once + "; exit 3; }"},
      options);
  ASSERT_TRUE(reply) << reply.error().what;
  live.wait_one(reply->first_id);
  EXPECT_EQ(printed_by(live, reply->first_id + 1).out, "run\nrun\n");
}

// Whoever attaches while it runs sees all of it, once.
TEST_F(LiveOutputLog, IsFollowedLikeAFile) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  const auto gate = live.dir() + "/gate";
  const auto array = live.job(
      {"/bin/sh", "-c", "echo one; while [ ! -e " + gate + " ]; do sleep 0.01; done; echo two"},
      logged_tasks(1));
  live.when_running(array + 1);
  auto client = transport::BlockingClient::connect(live.uri(), 30'000);
  ASSERT_TRUE(client);
  std::string seen;
  bool done = false;
  msg::AttachRequest ask;
  ask.id = array + 1;
  client->client().open({"job.attach", transport::pack(ask), "", 30'000},
                        {[&](std::string bytes) {
                           if (const auto chunk = transport::unpack<msg::OutputChunk>(bytes))
                             seen += chunk->data;
                         },
                         [&](const Status&) { done = true; }});
  ASSERT_TRUE(client->reactor().run_until([&] { return seen == "one\n"; }, 30'000));
  live.release("gate");
  ASSERT_TRUE(client->reactor().run_until([&] { return done; }, 30'000));
  EXPECT_EQ(seen, "one\ntwo\n");
  EXPECT_EQ(printed_by(live, array + 1).out, "one\ntwo\n");
}

TEST_F(LiveOutputLog, AnAttemptThatRunsAgainGoesOnInAFile) {
  const Live& live = shared({"--resources", "node=1/core=2"});
  JobOptions options = logged_tasks(2);
  options.system = R"({"holon":{"array":{},"requeue":1,"retry_on":"3"}})";
  const auto reply =
      live.submit({"/bin/sh", "-c",
                   "echo run; [ -e " + live.dir() + "/$HOLON_ARRAY_INDEX ] || { : >" + live.dir() +
                       "/$HOLON_ARRAY_INDEX; exit 3; }"},
                  options);
  ASSERT_TRUE(reply) << reply.error().what;
  live.wait_one(reply->first_id);
  EXPECT_EQ(printed_by(live, reply->first_id + 1).out, "run\nrun\n");
}

// A submission goes as a whole: none is too many before the second one.
TEST_F(LiveOutputLog, GoesWithItsJobs) {
  const Live live({"--resources", "node=1/core=4", "--conf", "journal.keep=5"});
  const auto first = live.job({"/bin/echo", "hello"}, logged_tasks(4));
  live.wait_one(first);
  const auto second = live.job({"/bin/echo", "there"}, logged_tasks(4));
  live.wait_one(second);
  ASSERT_TRUE(eventually([&] { return !printed_by(live, first + 1).good; }));
  EXPECT_TRUE(printed_by(live, second + 1).good);
}

}  // namespace
}  // namespace holon::instance
