#include "standalone/remembered.hpp"

#include <gtest/gtest.h>

#include "tests/standalone/own_etc.hpp"

namespace holon::standalone {
namespace {

// Answers as getent of an OwnEtc gives them, at a time that the test sets.
class Remembered : public testing::Test {
 protected:
  std::string ask(const std::string& key) {
    const auto answer = remembered_.ask(etc_.sources(), "passwd", key);
    return !answer ? "could not ask" : answer->value_or("none");
  }

  OwnEtc etc_;
  Time now_ = 0;
  RememberedAnswers remembered_{{100, 10, 1000}, [this] { return now_; }};
};

TEST_F(Remembered, AnAnswerHoldsForItsTerm) {
  etc_.answer("passwd ann", "here");
  EXPECT_EQ(ask("ann"), "here\n");
  etc_.answer("passwd ann", "moved");
  now_ = 99;
  EXPECT_EQ(ask("ann"), "here\n");
  now_ = 100;
  EXPECT_EQ(ask("ann"), "moved\n");
  EXPECT_EQ(etc_.questions(), "passwd ann\npasswd ann\n");
}

TEST_F(Remembered, ThatThereIsNoneHoldsForLess) {
  EXPECT_EQ(ask("ann"), "none");
  etc_.answer("passwd ann", "here");
  now_ = 9;
  EXPECT_EQ(ask("ann"), "none");
  now_ = 10;
  EXPECT_EQ(ask("ann"), "here\n");
}

TEST_F(Remembered, SoDoesThatItCouldNotBeAsked) {
  etc_.program("#!/bin/sh\nkill -9 $$\n");
  EXPECT_EQ(ask("ann"), "could not ask");
  etc_.program("#!/bin/sh\necho here\n");
  now_ = 9;
  EXPECT_EQ(ask("ann"), "could not ask");
  now_ = 10;
  EXPECT_EQ(ask("ann"), "here\n");
}

// The term of an answer that took long begins with the answer, not with the question.
TEST_F(Remembered, ATermBeginsWithTheAnswer) {
  RememberedAnswers slow({100, 10, 1000}, [this] { return etc_.questions().empty() ? 0 : 50; });
  EXPECT_FALSE(slow.ask(etc_.sources(), "passwd", "bob").value());
  EXPECT_FALSE(slow.ask(etc_.sources(), "passwd", "bob").value());
  EXPECT_EQ(etc_.questions(), "passwd bob\n");
}

TEST_F(Remembered, TheFirstToEndMakesRoom) {
  for (const std::string key : {"ann", "bob", "eve"})
    etc_.answer("passwd " + key, std::string(150, 'x'));
  for (const std::string key : {"ann", "bob", "eve"}) {
    ask(key);
    ++now_;
  }
  EXPECT_EQ(etc_.questions(), "passwd ann\npasswd bob\npasswd eve\n");
  ask("eve");
  ask("bob");
  EXPECT_EQ(etc_.questions(), "passwd ann\npasswd bob\npasswd eve\n") << "both are known";
  ask("ann");
  EXPECT_EQ(etc_.questions(), "passwd ann\npasswd bob\npasswd eve\npasswd ann\n");
}

TEST_F(Remembered, WhatIsLargerThanAllIsNotKept) {
  etc_.answer("passwd ann", std::string(1000, 'x'));
  ask("ann");
  ask("ann");
  EXPECT_EQ(etc_.questions(), "passwd ann\npasswd ann\n");
}

}  // namespace
}  // namespace holon::standalone
