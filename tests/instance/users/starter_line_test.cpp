// A supervisor that ends waits for its starter, and not for ever.
#include "instance/process/starter_line.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <utility>

namespace holon::instance {
namespace {

class StarterEnds : public ::testing::Test {
 protected:
  void SetUp() override {
    auto reactor = transport::Reactor::create();
    ASSERT_TRUE(reactor);
    reactor_ = std::move(*reactor);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    line_.emplace(*reactor_, ends[0], -1);
    starter_.reset(ends[1]);
  }

  std::unique_ptr<transport::Reactor> reactor_;
  transport::UniqueFd starter_;
  std::optional<StarterLine> line_;
};

TEST_F(StarterEnds, OneThatHasClosedItsConnectionHasEnded) {
  EXPECT_EQ(send(starter_.get(), "x", 1, 0), 1);  // an answer that nobody has read
  starter_.reset();
  EXPECT_TRUE(line_->end());
}

TEST_F(StarterEnds, OneThatKeepsItsConnectionIsToldOf) {
  EXPECT_FALSE(line_->end(1));
  char byte = 0;
  EXPECT_EQ(recv(starter_.get(), &byte, 1, MSG_DONTWAIT), 0) << "it has been told to end";
}

TEST_F(StarterEnds, WhereThereIsNoneNobodyIsWaitedFor) {
  EXPECT_TRUE(StarterLine(*reactor_, -1, -1).end());
}

}  // namespace
}  // namespace holon::instance
