// What the tasks of a job may leave with their agent.
#include <gtest/gtest.h>

#include <string>

#include "pmi/server.hpp"

namespace holon::pmi {
namespace {

constexpr std::size_t kMost = 100'000;  // bytes

class PmiBounds : public ::testing::Test {
 protected:
  PmiBounds() {
    server_.may_keep = [this](std::size_t bytes) {
      if (bytes > kMost) return false;
      most_ = std::max(most_, bytes);
      return true;
    };
    server_.on_fence = [this](const Pairs& put) { server_.release(put); };
    say("cmd=init pmi_version=1 pmi_subversion=1");
  }
  std::string say(const std::string& line) {
    EXPECT_TRUE(server_.receive(0, line + "\n"));
    return server_.take_output(0);
  }
  bool put(const std::string& key, const std::string& value) {
    return say("cmd=put kvsname=job key=" + key + " value=" + value).find("rc=0") !=
           std::string::npos;
  }

  Server server_{{"job", 1, "", Versions::both}, {0}};
  std::size_t most_ = 0;
};

TEST_F(PmiBounds, MorePairsThanItMayKeepAreRefused) {
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += put("key" + std::to_string(i), "v") ? 1 : 0;
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 1'000) << "also what stands around so short a value counts";
  EXPECT_LE(server_.kept(), kMost);
  EXPECT_GT(most_, kMost * 9 / 10);
}

TEST_F(PmiBounds, WhatIsPutAgainTakesNoMoreRoom) {
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(put("key", std::string(1'000, 'v'))) << round;
    say("cmd=barrier_in");
  }
  EXPECT_LT(server_.kept(), 3'000u);
  for (int round = 0; round < 20; ++round) ASSERT_TRUE(put("key", std::string(1'000, 'v')));
  say("cmd=barrier_in");
  EXPECT_LT(server_.kept(), 3'000u) << "what went to the others is not kept twice";
}

}  // namespace
}  // namespace holon::pmi
