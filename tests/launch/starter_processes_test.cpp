// What the agent makes of a starter's answers: which of them are refusals to a task's user, and
// what stays open of them.
#include "launch/tasks/starter_processes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <span>
#include <thread>

#include "base/descriptors/passing.hpp"
#include "starter/wire.hpp"
#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

using starter::Step;

// The connection of its keeper comes first with a request.
transport::UniqueFd task_guard_line_of(int starter) {
  starter::Ask ask;
  const Passed passed = receive_with_descriptors(
      starter, std::as_writable_bytes(std::span(&ask, 1)), starter::kMostDescriptors);
  if (passed.descriptors.empty()) return {};
  close_all(std::span(passed.descriptors).subspan(1));
  return transport::UniqueFd(passed.descriptors.front());
}

class StarterAnswers : public ProcessTest {
 protected:
  // What starting a task of a user comes to, where its keeper gets no further than this step.
  SpawnError refused_at(Step step, int error) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    auto processes = starter_processes(*reactor_, ends[0]);
    EXPECT_TRUE(processes);
    std::thread starter([end = ends[1], step, error] {
      const transport::UniqueFd socket(end);
      const auto line = task_guard_line_of(socket.get());
      starter::Told told;
      told.what = starter::What::failed;
      told.step = step;
      told.error = error;
      send(line.get(), &told, sizeof told, MSG_NOSIGNAL);
    });
    const std::vector<std::string> argv = {"true"}, env;
    const std::string cwd = "/";
    SpawnRequest request{argv, env, cwd};
    request.user = "ann";
    const auto pid = (*processes)->spawn(request);
    starter.join();
    EXPECT_FALSE(pid);
    return pid ? SpawnError() : pid.error();
  }
};

TEST_F(StarterAnswers, AreRefusalsToTheUserWhereItIsWhatTheJobAskedFor) {
  for (const Step step : {Step::enter, Step::limit, Step::find, Step::run})
    for (const int error : {EACCES, EPERM}) EXPECT_TRUE(refused_at(step, error).denied);
  for (const Step step : {Step::request, Step::account})
    EXPECT_TRUE(refused_at(step, EINVAL).denied) << "by the starter's own rules";
  for (const Step step : {Step::enter, Step::find, Step::run})
    EXPECT_FALSE(refused_at(step, ENOENT).denied) << "nobody refuses what is not there";
}

TEST_F(StarterAnswers, AreNoRefusalsToTheUserWhereTheStarterIsRefusedSomething) {
  for (const Step step : {Step::start, Step::bind, Step::become})
    EXPECT_FALSE(refused_at(step, EPERM).denied) << refused_at(step, EPERM).what;
}

// Answers one request to open a file with `files` of them.
void answer_as_opener(int starter, std::size_t files) {
  starter::Ask ask;
  const Passed passed = receive_with_descriptors(
      starter, std::as_writable_bytes(std::span(&ask, 1)), starter::kMostDescriptors);
  ASSERT_EQ(passed.descriptors.size(), 2U);
  starter::Told told;
  told.what = starter::What::opened;
  const std::vector<int> opened(files, passed.descriptors[1]);
  EXPECT_TRUE(
      send_with_descriptors(passed.descriptors[0], std::as_bytes(std::span(&told, 1)), opened));
  close_all(passed.descriptors);
}

class FromAStarter : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    auto made = starter_processes(*reactor_, ends[0]);
    ASSERT_TRUE(made) << to_string(made.error());
    processes_ = std::move(*made);
    starter_.reset(ends[1]);
  }
  int open_with(std::size_t files) {
    std::thread starter([&] { answer_as_opener(starter_.get(), files); });
    const int fd = processes_->open_file("ann", "/tmp/out", O_WRONLY, -1);
    starter.join();
    return fd;
  }

  std::unique_ptr<Processes> processes_;
  transport::UniqueFd starter_;
};

TEST_F(FromAStarter, AFileComesAlone) {
  const transport::UniqueFd file(open_with(1));
  EXPECT_TRUE(file);
  const auto before = transport::free_descriptors();
  EXPECT_EQ(open_with(2), -EMFILE);
  EXPECT_EQ(transport::free_descriptors(), before) << "the other one is open";
  EXPECT_EQ(open_with(0), -EMFILE);
}

}  // namespace
}  // namespace holon::launch
