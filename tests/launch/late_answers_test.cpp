// Answers that nobody waits for, over a real connection.
#include "launch/news/late_answers.hpp"

#include <gtest/gtest.h>

#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

constexpr Duration kWait = 200;        // ms
constexpr Duration kForEver = 60'000;  // longer than a test lasts

class LateAnswersTest : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    server_ = std::move(*transport::Server::listen(*reactor_, *transport::ipc_uri(dir_, "late")));
    client_ = std::move(*transport::Client::connect(*reactor_, server_->uri()));
  }
  void TearDown() override {
    client_.reset();
    server_.reset();
    ProcessTest::TearDown();
  }
  // Two requests that `late` is given.
  void ask(LateAnswers& late) {
    server_->on_request([&](const transport::Request& request) {
      late.add(request);
      ++added_;
    });
    for (int i = 0; i < 2; ++i)
      client_->call({"start", transport::pack(msg::Empty{}), "", kForEver},
                    [this](const Result<std::string>& answer) {
                      ASSERT_TRUE(answer) << answer.error().what;
                      ++answered_;
                      answered_at_ = reactor_->now();
                    });
    ASSERT_TRUE(until([this] { return added_ == 2; }));
  }

  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<transport::Client> client_;
  int added_ = 0, answered_ = 0;
  Time answered_at_ = 0;
};

TEST_F(LateAnswersTest, GoByThemselvesAfterAWhile) {
  LateAnswers late(*reactor_, kWait);
  const Time begin = reactor_->now();
  ask(late);
  ASSERT_TRUE(until([this] { return answered_ == 2; }));
  EXPECT_GE(answered_at_ - begin, kWait);
}

TEST_F(LateAnswersTest, GoWithWhatElseIsSaid) {
  LateAnswers late(*reactor_, kForEver);
  ask(late);
  EXPECT_EQ(answered_, 0);
  late.give();
  EXPECT_TRUE(until([this] { return answered_ == 2; }));
  late.give();  // there is none any more
}

}  // namespace
}  // namespace holon::launch
