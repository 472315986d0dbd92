// What the agent makes of a starter's answers: which of them are refusals to a task's user.
#include "launch/tasks/starter_processes.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <thread>

#include "starter/wire.hpp"
#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

using starter::Step;

// The connection of its keeper comes first with a request.
transport::UniqueFd keeper_line_of(int starter) {
  starter::Ask ask;
  iovec bytes{&ask, sizeof ask};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(starter::kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(starter, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof ask)) return {};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  std::vector<transport::UniqueFd> descriptors;
  for (std::size_t at = CMSG_LEN(0); at < header->cmsg_len; at += sizeof(int)) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + at - CMSG_LEN(0), sizeof fd);
    descriptors.emplace_back(fd);
  }
  return std::move(descriptors.front());
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
      const auto line = keeper_line_of(socket.get());
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

}  // namespace
}  // namespace holon::launch
