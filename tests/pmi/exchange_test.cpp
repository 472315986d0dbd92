// Client and server of this folder against each other, over socket pairs, each task on a thread of
// its own.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <thread>

#include "pmi/client.hpp"
#include "tests/pmi/served.hpp"

namespace holon::pmi {
namespace {

constexpr Duration kPatience = 10'000;

// What rank 0 says reaches all of them, twice.
void exchange(Client& client) {
  for (const char* round : {"first", "second"}) {
    const std::string mine = fmt::format("{}-from-{}", round, client.rank());
    ASSERT_TRUE(client.put(fmt::format("{}.{}", round, client.rank()), mine));
    ASSERT_TRUE(client.fence());
    for (std::uint64_t rank = 0; rank < client.size(); ++rank)
      EXPECT_EQ(client.get(fmt::format("{}.{}", round, rank)).value_or("nothing"),
                fmt::format("{}-from-{}", round, rank));
  }
  EXPECT_EQ(client.get("nobody.has.put.it").error().code, Errc::not_found);
  EXPECT_TRUE(client.finalize());
}

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0); }
  int ends[2] = {-1, -1};
};

class Exchange : public testing::TestWithParam<Version> {};

TEST_P(Exchange, OfEightTasksOnOneNode) {
  constexpr std::uint64_t kTasks = 8;
  std::vector<std::uint64_t> ranks;
  std::vector<int> fds;
  std::vector<std::thread> tasks;
  for (std::uint64_t rank = 0; rank < kTasks; ++rank) {
    const Pair pair;
    ranks.push_back(rank);
    fds.push_back(pair.ends[0]);
    tasks.emplace_back([fd = pair.ends[1], rank] {
      auto client = Client::hello({fd, rank, kTasks, "7.0"}, GetParam(), kPatience);
      EXPECT_TRUE(client) << to_string(client.error());
      if (client) exchange(*client);
      close(fd);
    });
  }
  Server server({"7.0", kTasks, process_mapping({kTasks})}, ranks);
  int fences = 0;
  server.on_fence = [&](Pairs put) {
    ++fences;
    EXPECT_EQ(put.size(), kTasks);
    server.release({});
  };
  EXPECT_TRUE(serve(server, fds));
  for (auto& task : tasks) task.join();
  EXPECT_EQ(fences, 2);
  for (std::size_t task = 0; task < kTasks; ++task) EXPECT_TRUE(server.is_finalized(task));
}

// Two servers, each with one task of the job: a fence ends when both have come to it, and each gets
// what the other's task has put.
TEST_P(Exchange, OfTwoNodes) {
  const Pair pairs[2];
  std::vector<std::thread> tasks;
  for (std::uint64_t rank = 0; rank < 2; ++rank)
    tasks.emplace_back([fd = pairs[rank].ends[1], rank] {
      auto client = Client::hello({fd, rank, 2, "7.0"}, GetParam(), kPatience);
      if (client) exchange(*client);
      close(fd);
    });
  Server servers[2] = {Server({"7.0", 2, ""}, {0}), Server({"7.0", 2, ""}, {1})};
  Pairs put[2];
  int in_fence = 0;
  for (int node = 0; node < 2; ++node)
    servers[node].on_fence = [&, node](Pairs pairs_put) {
      put[node] = std::move(pairs_put);
      if (++in_fence < 2) return;
      in_fence = 0;
      servers[0].release(put[1]);
      servers[1].release(put[0]);
    };
  // One loop for both, as one thread may touch both.
  std::vector<pollfd> open = {{pairs[0].ends[0], POLLIN, 0}, {pairs[1].ends[0], POLLIN, 0}};
  for (int left = 2; left > 0;) {
    ASSERT_GT(poll(open.data(), 2, 20'000), 0);
    for (int node = 0; node < 2; ++node) {
      if (open[node].fd < 0 || open[node].revents == 0) continue;
      char bytes[512];
      const auto n = read(open[node].fd, bytes, sizeof bytes);
      if (n > 0) {
        EXPECT_TRUE(servers[node].receive(0, {bytes, static_cast<std::size_t>(n)}));
        continue;
      }
      close(open[node].fd);
      open[node].fd = -1;
      --left;
    }
    for (int node = 0; node < 2; ++node) {
      const std::string out = servers[node].take_output(0);
      if (out.empty()) continue;
      EXPECT_GT(send(pairs[node].ends[0], out.data(), out.size(), MSG_NOSIGNAL), 0);
    }
  }
  for (auto& task : tasks) task.join();
}

INSTANTIATE_TEST_SUITE_P(BothVersions, Exchange, testing::Values(Version::one, Version::two),
                         [](const auto& version) {
                           return version.param == Version::one ? "Pmi1" : "Pmi2";
                         });

// As MPICH does it: MPI_Init with two fences, the second one for addresses, MPI_Finalize with one.
TEST(PmiServer, TasksLeaveTheirLastFenceWithoutThoseThatNeedThemToComeThere) {
  Server server({"7.0", 2, ""}, {0, 1});
  int fences = 0;
  server.on_fence = [&](Pairs put) {
    ++fences;
    server.release(put);
  };
  const auto say = [&](std::size_t task, const std::string& line) {
    EXPECT_TRUE(server.receive(task, line + "\n"));
    return server.take_output(task);
  };
  for (const std::size_t task : {0, 1}) say(task, "cmd=init pmi_version=1 pmi_subversion=1");
  say(0, "cmd=barrier_in");
  EXPECT_FALSE(server.waits_to_leave()) << "it may be about to tell its address";
  say(1, "cmd=barrier_in");
  server.take_output(0);
  for (const std::size_t task : {0, 1})
    say(task, fmt::format("cmd=put kvsname=7.0 key=-allgather-shm-1-{} value=x", task));
  say(0, "cmd=barrier_in");
  EXPECT_FALSE(server.waits_to_leave()) << "it waits for the other's address";
  say(1, "cmd=barrier_in");
  server.take_output(0);
  say(1, "cmd=barrier_in");
  EXPECT_TRUE(server.waits_to_leave());
  server.let_leave();
  EXPECT_EQ(server.take_output(1), "cmd=barrier_out\n");
  EXPECT_FALSE(server.waits_to_leave());
  say(1, "cmd=finalize");
  EXPECT_EQ(fences, 2);
  EXPECT_EQ(say(0, "cmd=barrier_in"), "cmd=barrier_out\n") << "the other has been there";
  EXPECT_EQ(fences, 3);
  EXPECT_EQ(server.take_output(1), "") << "it was answered before";
}

TEST(PmiClient, OfASilentServerGivesUp) {
  const Pair pair;
  const auto client = Client::hello({pair.ends[1], 0, 2, "j"}, Version::one, 50);
  EXPECT_EQ(client.error().code, Errc::timed_out) << to_string(client.error());
  close(pair.ends[0]);
  close(pair.ends[1]);
}

TEST(PmiClient, OfAServerThatIsGoneSaysSo) {
  const Pair pair;
  close(pair.ends[0]);
  EXPECT_EQ(Client::hello({pair.ends[1], 0, 2, "j"}, Version::one, kPatience).error().code,
            Errc::disconnected);
  close(pair.ends[1]);
}

TEST(PmiClient, SendsNothingThatPmiCannotHold) {
  const Pair pair;
  std::thread task([fd = pair.ends[1]] {
    auto client = Client::hello({fd, 0, 1, "j"}, Version::one, kPatience);
    ASSERT_TRUE(client);
    EXPECT_EQ(client->put("a b", "x").error().code, Errc::invalid_argument);
    EXPECT_EQ(client->put("a", "").error().code, Errc::invalid_argument);
    EXPECT_EQ(client->put("a", std::string(5000, 'x')).error().code, Errc::out_of_range);
    EXPECT_TRUE(client->put("a", std::string(kMaxValue - 1, 'x')));
    close(fd);
  });
  Server server({"j", 1, ""}, {0});
  EXPECT_TRUE(serve(server, {pair.ends[0]}));
  EXPECT_FALSE(server.is_finalized(0));
  task.join();
}

TEST(PmiServer, AnswersAsMpichExpects) {
  Server server({"job", 2, "(vector,(0,1,2))"}, {0, 1});
  const auto say = [&](const std::string& line) {
    EXPECT_TRUE(server.receive(0, line));
    return server.take_output(0);
  };
  EXPECT_EQ(say("cmd=init pmi_version=1 pmi_subversion=1\n"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(say("cmd=get_maxes\n"), "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  EXPECT_EQ(say("cmd=get_appnum\n"), "cmd=appnum appnum=0\n");
  EXPECT_EQ(say("cmd=get_universe_size\n"), "cmd=universe_size size=2\n");
  EXPECT_EQ(say("cmd=get kvsname=job key=PMI_process_mapping\n"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n");
  EXPECT_EQ(say("cmd=get kvsname=other key=PMI_process_mapping\n").find("cmd=get_result rc=-1"),
            0U);
  EXPECT_EQ(say("mcmd=spawn\nnprocs=1\nendcmd\n"), "cmd=spawn_result rc=-1 msg=not_supported\n");
  EXPECT_EQ(say("cmd=barrier_in\n"), "") << "the other one has not come";
}

TEST(PmiServer, KeepsWhoWaitsForAnAttributeOfTheNodeUntilItIsThere) {
  Server server({"job", 2, ""}, {0, 1});
  for (std::size_t task : {0, 1})
    ASSERT_TRUE(server.receive(task, "cmd=init pmi_version=2 pmi_subversion=0\n"));
  server.take_output(0);
  ASSERT_TRUE(
      server.receive(0, write_frame({"info-getnodeattr", {{"key", "k"}, {"wait", "TRUE"}}})));
  EXPECT_EQ(server.take_output(0), "");
  ASSERT_TRUE(server.receive(1, write_frame({"info-putnodeattr", {{"key", "k"}, {"value", "v"}}})));
  std::string answer = server.take_output(0);
  EXPECT_EQ(take_frame(answer).value()->at("value"), "v");
}

TEST(PmiServer, TellsOfATaskThatAborts) {
  Server server({"job", 2, ""}, {4, 5});
  std::string told;
  server.on_abort = [&](std::uint64_t rank, int code, const std::string&) {
    told = fmt::format("{} {}", rank, code);
  };
  ASSERT_TRUE(server.receive(1, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=abort exitcode=7\n"));
  EXPECT_EQ(told, "5 7");
}

TEST(PmiServer, HearsATaskThatSpeaksSomethingElseNoMore) {
  Server server({"job", 1, ""}, {0});
  EXPECT_FALSE(server.receive(0, "GET / HTTP/1.1\r\n"));
  EXPECT_FALSE(server.receive(0, "cmd=init pmi_version=1 pmi_subversion=1\n"));
}

TEST(PmiServer, TakesOneOfTheVersionsThereAre) {
  Server server({"job", 1, ""}, {0});
  ASSERT_TRUE(server.receive(0, "cmd=init pmi_version=3 pmi_subversion=0\n"));
  EXPECT_NE(server.take_output(0).find("rc=-1"), std::string::npos);
}

TEST(PmiServer, OfVersionOneRefusesTheOther) {
  Server server({"job", 1, "", Versions::one}, {0});
  ASSERT_TRUE(server.receive(0, "cmd=init pmi_version=2 pmi_subversion=0\n"));
  EXPECT_NE(server.take_output(0).find("rc=-1"), std::string::npos);
  EXPECT_FALSE(server.is_waited_for(0));
  ASSERT_TRUE(server.receive(0, "cmd=init pmi_version=1 pmi_subversion=1\n"));
  EXPECT_NE(server.take_output(0).find("rc=0"), std::string::npos);
  EXPECT_TRUE(server.is_waited_for(0));
}

TEST(PmiServer, TakesAHelloAfterAGoodbye) {
  Server server({"job", 1, ""}, {0});
  for (const char* version : {"2", "1"}) {
    ASSERT_TRUE(server.receive(0, std::string("cmd=init pmi_version=") + version + "\n"));
    EXPECT_FALSE(server.is_finalized(0));
    ASSERT_TRUE(server.receive(
        0, *version == '2' ? write_frame({"finalize", {}}) : write_line({"finalize", {}})));
    EXPECT_TRUE(server.is_finalized(0));
    EXPECT_FALSE(server.is_waited_for(0));
  }
}

TEST(PmiServer, KeepsNoAttributeThatIsTooLong) {
  Server server({"job", 1, ""}, {0});
  ASSERT_TRUE(server.receive(0, "cmd=init pmi_version=2 pmi_subversion=0\n"));
  server.take_output(0);
  ASSERT_TRUE(server.receive(
      0, write_frame({"info-putnodeattr", {{"key", "k"}, {"value", std::string(5000, 'x')}}})));
  std::string answer = server.take_output(0);
  EXPECT_EQ(take_frame(answer).value()->at("rc"), "-1");
}

TEST(ProcessMapping, PutsEqualNodesTogether) {
  EXPECT_EQ(process_mapping({4}), "(vector,(0,1,4))");
  EXPECT_EQ(process_mapping({2, 2, 1}), "(vector,(0,2,2),(2,1,1))");
  EXPECT_EQ(process_mapping({}), "");
}

TEST(ProcessMapping, SaysOfEachRankWhichNodeItIsOn) {
  EXPECT_EQ(process_mapping_of({0, 0, 1, 1, 2}), process_mapping({2, 2, 1}));
  EXPECT_EQ(process_mapping_of({0, 1, 0, 1}), "(vector,(0,2,1),(0,2,1))");
  EXPECT_EQ(process_mapping_of({0, 1, 2, 1, 2, 1}), "(vector,(0,3,1),(1,2,1),(1,1,1))");
  EXPECT_EQ(process_mapping_of({}), "");
}

}  // namespace
}  // namespace holon::pmi
