// What tasks read: a file, or what somebody sends them, with nothing lost, doubled or kept.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/launch/fixture.hpp"
#include "transport/codec/codec.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {
namespace {

using testing::HasSubstr;

// Sends pieces to jobs as a broker does.
class InputTest : public JobsTest {
 protected:
  InputTest() {
    server_dir_ = *transport::make_runtime_dir();
    server_ = *transport::Server::listen(*reactor_, *transport::ipc_uri(server_dir_, "agent"));
    server_->on_request([this](const transport::Request& r) { jobs_->take_input(r); });
    client_ = *transport::Client::connect(*reactor_, server_->uri());
  }
  ~InputTest() override { std::filesystem::remove_all(server_dir_); }

  struct Answer {
    bool came = false;
    Result<msg::InputReply> reply = msg::InputReply{};
  };
  // The answer is filled in while the reactor turns.
  std::shared_ptr<Answer> send(std::uint64_t job, std::uint64_t offset, std::string data,
                               bool end = false) {
    auto answer = std::make_shared<Answer>();
    client_->call({"agent.input",
                   transport::pack(msg::InputRequest{job, offset, std::move(data), end}), "", 0},
                  [answer](const Result<std::string>& bytes) {
                    answer->came = true;
                    answer->reply = bytes ? transport::unpack<msg::InputReply>(*bytes)
                                          : tl::unexpected<Error>(bytes.error());
                  });
    return answer;
  }
  Result<msg::InputReply> settled(const std::shared_ptr<Answer>& answer) {
    EXPECT_TRUE(until([&] { return answer->came; }));
    return answer->reply;
  }
  void begin(const std::string& script, std::uint32_t ntasks, const std::string& readers) {
    msg::Start how = start(1, ntasks);
    how.input_tasks = readers;
    EXPECT_TRUE(jobs_->start(request(shell(script), how)));
    EXPECT_TRUE(until([&] { return started_.contains(1) || finished_.contains(1); }));
  }
  bool ended() {
    return until([&] { return finished_.contains(1); });
  }

  std::string server_dir_;
  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<transport::Client> client_;
};

TEST_F(InputTest, ArrivesInOrderAndEnds) {
  begin("cat", 1, "all");
  EXPECT_TRUE(settled(send(1, 0, ""))->open);
  EXPECT_TRUE(settled(send(1, 0, "one\n"))->open);
  EXPECT_TRUE(settled(send(1, 4, "two\n"))->open);
  EXPECT_FALSE(settled(send(1, 8, "three\n", true))->open);
  ASSERT_TRUE(ended());
  EXPECT_EQ(output(), "one\ntwo\nthree\n");
}

TEST_F(InputTest, WhatIsSentAgainIsNotReadAgain) {
  begin("cat", 1, "0");
  EXPECT_TRUE(settled(send(1, 0, "abc"))->open);
  EXPECT_TRUE(settled(send(1, 0, "abc"))->open);
  EXPECT_TRUE(settled(send(1, 1, "bcdef"))->open);
  EXPECT_EQ(settled(send(1, 9, "x")).error().code, Errc::invalid_argument) << "a gap";
  settled(send(1, 6, "", true));
  ASSERT_TRUE(ended());
  EXPECT_EQ(output(), "abcdef");
}

TEST_F(InputTest, AllTasksOrSomeOfThemReadIt) {
  begin("echo $HOLON_TASK_RANK:$(cat)", 3, "all");
  settled(send(1, 0, "x", true));
  ASSERT_TRUE(ended());
  for (const char* line : {"0:x\n", "1:x\n", "2:x\n"}) EXPECT_THAT(output(), HasSubstr(line));
}

TEST_F(InputTest, TheOthersHaveNone) {
  begin("echo $HOLON_TASK_RANK:$(cat)", 3, "1-2");
  settled(send(1, 0, "x", true));
  ASSERT_TRUE(ended());
  for (const char* line : {"0:\n", "1:x\n", "2:x\n"}) EXPECT_THAT(output(), HasSubstr(line));
}

// More than a pipe holds: the piece is answered when it is read, and no second one is taken before.
TEST_F(InputTest, ATaskThatDoesNotReadMakesTheSenderWait) {
  ASSERT_EQ(mkfifo((dir_ + "/go").c_str(), 0600), 0);
  begin("read x < go; wc -c", 1, "all");
  const std::string piece(200'000, 'x');
  const auto first = send(1, 0, piece);
  const auto again = send(1, piece.size(), "y");
  EXPECT_EQ(settled(again).error().code, Errc::busy);
  EXPECT_FALSE(first->came) << "a pipe does not hold it";
  std::ofstream(dir_ + "/go") << "now\n";
  EXPECT_TRUE(settled(first)->open);
  settled(send(1, piece.size(), "", true));
  ASSERT_TRUE(ended());
  EXPECT_EQ(output(), "200000\n");
}

TEST_F(InputTest, WhoDoesNotWaitForItEndsAllTheSame) {
  begin("exec true", 1, "all");
  const std::string piece(200'000, 'x');
  const auto answer = settled(send(1, 0, piece));
  ASSERT_TRUE(ended());
  if (answer)
    EXPECT_FALSE(answer->open);
  else
    EXPECT_EQ(answer.error().code, Errc::not_found) << "the job had ended before";
}

TEST_F(InputTest, PiecesHaveALargestSize) {
  begin("cat", 1, "all");
  EXPECT_EQ(settled(send(1, 0, std::string(msg::kMostInput + 1, 'x'))).error().code,
            Errc::out_of_range);
  settled(send(1, 0, "", true));
  ASSERT_TRUE(ended());
}

TEST_F(InputTest, AFileIsOpenedForEachTask) {
  std::ofstream(dir_ + "/in.0") << "zero";
  std::ofstream(dir_ + "/in.1") << "one";
  msg::Start how = start(1, 2);
  how.input = "in.{{taskid}}";
  EXPECT_EQ(run(shell("echo $HOLON_TASK_RANK:$(cat)"), how).exit_code, 0);
  EXPECT_THAT(output(), HasSubstr("0:zero\n"));
  EXPECT_THAT(output(), HasSubstr("1:one\n"));
}

TEST_F(InputTest, AFileThatCannotBeReadIsNamed) {
  const auto with = [this](const std::string& file, std::uint64_t job) {
    msg::Start how = start(job);
    how.input = file;
    return run(shell("cat"), how);
  };
  const auto missing = with("none", 1);
  EXPECT_EQ(missing.exit_code, 126);
  EXPECT_EQ(missing.what,
            "cannot read the input file \"" + dir_ + "/none\": No such file or directory");
  EXPECT_FALSE(missing.denied);
  EXPECT_THAT(with(dir_, 2).what, HasSubstr("Is a directory"));
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(with("pipe", 3).what, HasSubstr("is a named pipe"));
}

}  // namespace
}  // namespace holon::launch
