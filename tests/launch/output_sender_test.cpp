// What an agent does with output where it does not see the broker's files.
#include "launch/remote/output_sender.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "launch/remote/output_note.hpp"
#include "tests/launch/fixture.hpp"
#include "transport/codec/codec.hpp"
#include "transport/rpc.hpp"

namespace holon::launch {
namespace {

// The broker's end is a server in the test, which keeps the pieces in memory.
class OutputSenderTest : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    listen();
    broker_ = std::move(*transport::Client::connect(*reactor_, server_->uri()));
    setenv("TMPDIR", dir_.c_str(), 1);
    keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output"));
    keeper_->resume();
  }
  void TearDown() override {
    keeper_.reset();
    broker_.reset();
    server_.reset();
    unsetenv("TMPDIR");
    ProcessTest::TearDown();
  }
  void listen() {
    server_ = std::move(*transport::Server::listen(*reactor_, *transport::ipc_uri(dir_, "broker")));
    server_->on_request([this](const transport::Request& request) {
      const auto piece = *transport::unpack<msg::KeepRequest>(request.payload());
      ++asked_;
      late_ += piece.late ? 1 : 0;
      if (refuses_ || (!piece.data.empty() && pieces_++ == refused_piece_))
        return request.fail({Errc::system, "no space left", ""});
      if (!piece.data.empty() && pieces_ - 1 == silent_piece_)
        return unanswered_.push_back(request);
      std::string& file = kept_[piece.error];
      if (piece.data.empty()) return request.reply(transport::pack(msg::KeepReply{file.size()}));
      file.resize(std::max<std::size_t>(file.size(), piece.offset + piece.data.size()));
      file.replace(piece.offset, piece.data.size(), piece.data);
      request.reply(transport::pack(msg::KeepReply{file.size()}));
    });
  }
  // A job of which the instance names the files, and that writes so.
  msg::Start job(const std::string& out, const std::string& err = "") {
    msg::Start start;
    start.job = 7;
    start.output = "/of/the/broker/output/7.out";
    start.error = "/of/the/broker/output/7.err";
    keeper_->take_over(start);
    std::ofstream(start.output) << out;
    std::ofstream(start.error) << err;
    return start;
  }
  bool deliver(const msg::Start& start) {
    bool done = false;
    if (!keeper_->deliver(start, [&] { done = true; })) return false;
    EXPECT_TRUE(until([&] { return done; }));
    return true;
  }

  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<transport::Client> broker_;
  std::unique_ptr<OutputSender> keeper_;
  std::map<bool, std::string> kept_;
  int asked_ = 0, late_ = 0, pieces_ = 0, refused_piece_ = -1, silent_piece_ = -1;
  bool refuses_ = false;
  std::vector<transport::Request> unanswered_;
};

TEST_F(OutputSenderTest, OnlyFilesOfTheInstancesNamingAreTakenOver) {
  msg::Start start;
  start.output = "/of/the/broker/output/7.out";
  start.error = "/of/ada/err";
  keeper_->take_over(start);
  EXPECT_THAT(start.output, ::testing::StartsWith(dir_ + "/holon-output-"));
  EXPECT_EQ(start.error, "/of/ada/err");
}

TEST_F(OutputSenderTest, BothStreamsArriveWholeAndTheFilesGo) {
  const std::string out(3 * msg::kMostKept + 17, 'o');
  const auto start = job(out, "an error\n");
  EXPECT_TRUE(deliver(start));
  EXPECT_EQ(kept_[false], out);
  EXPECT_EQ(kept_[true], "an error\n");
  EXPECT_FALSE(std::filesystem::exists(start.output));
  EXPECT_FALSE(std::filesystem::exists(start.error));
}

TEST_F(OutputSenderTest, OfAJobThatWroteNothingNothingIsSent) {
  EXPECT_FALSE(deliver(job("")));
  EXPECT_EQ(asked_, 0);
}

TEST_F(OutputSenderTest, ALaterAttemptStandsBehindTheOneBefore) {
  EXPECT_TRUE(deliver(job("first\n")));
  auto again = job("second\n");
  again.attempt = 1;
  EXPECT_TRUE(deliver(again));
  EXPECT_EQ(kept_[false], "first\nsecond\n");
}

TEST_F(OutputSenderTest, WhatIsRefusedDoesNotHoldUpTheJobsEnd) {
  refuses_ = true;
  EXPECT_TRUE(deliver(job("out", "err")));
  EXPECT_EQ(kept_[false], "");
}

TEST_F(OutputSenderTest, WithoutABrokerItWaitsForTheNextOne) {
  server_.reset();
  EXPECT_TRUE(until([&] { return !broker_->connected(); }));
  keeper_->pause();
  bool done = false;
  EXPECT_TRUE(keeper_->deliver(job("kept"), [&] { done = true; }));
  listen();
  EXPECT_TRUE(until([&] { return broker_->connected(); }));
  EXPECT_EQ(asked_, 0) << "it has to say hello first";
  keeper_->resume();
  EXPECT_TRUE(until([&] { return done; }));
  EXPECT_EQ(kept_[false], "kept");
}

TEST_F(OutputSenderTest, GivenUpItLetsAllJobsEnd) {
  server_.reset();
  EXPECT_TRUE(until([&] { return !broker_->connected(); }));
  bool done = false;
  EXPECT_TRUE(keeper_->deliver(job("lost"), [&] { done = true; }));
  keeper_->give_up();
  EXPECT_TRUE(until([&] { return done; }));
}

// The agent after one that was killed: both have the same runtime directory.
TEST_F(OutputSenderTest, WhatAKilledAgentHadIsHandedOverByTheNext) {
  const std::string former = dir_ + "/holon-output-former";
  std::filesystem::create_directory(former);
  std::ofstream(former + "/7.out") << "out";
  std::ofstream(former + "/7.err.1") << "err";
  std::ofstream(former + "/8.out") << "";
  keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output", former));
  // The same job runs again before the broker has all of that.
  auto again = job("again");
  keeper_->resume();
  EXPECT_TRUE(until([&] { return late_ == 4; }));
  EXPECT_EQ(kept_[false], "out");
  EXPECT_EQ(kept_[true], "err");
  again.attempt = 1;
  EXPECT_TRUE(deliver(again));
  EXPECT_EQ(kept_[false], "outagain");
  EXPECT_TRUE(std::filesystem::is_empty(former));
}

// Of two agents that were killed, and the job that runs again: nothing is written over.
TEST_F(OutputSenderTest, FilesOfOneJobAreHandedOverOneAfterTheOther) {
  const std::string former = dir_ + "/holon-output-former";
  const std::string first(2 * msg::kMostKept, '1'), second(msg::kMostKept + 5, '2');
  std::filesystem::create_directory(former);
  std::ofstream(former + "/7.out.late") << first;
  std::ofstream(former + "/7.out") << second;
  keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output", former));
  auto again = job("third");
  again.attempt = 2;
  keeper_->resume();
  EXPECT_TRUE(deliver(again));
  EXPECT_TRUE(kept_[false] == first + second + "third");
  EXPECT_TRUE(std::filesystem::is_empty(former));
}

TEST_F(OutputSenderTest, WhatIsLateStaysUntilTheBrokerCanWriteIt) {
  const std::string former = dir_ + "/holon-output-former";
  std::filesystem::create_directory(former);
  std::ofstream(former + "/7.out") << "out";
  keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output", former));
  refuses_ = true;
  keeper_->resume();
  EXPECT_TRUE(until([&] { return late_ == 1; }));
  EXPECT_TRUE(deliver(job("another's"))) << "nobody waits for it";
  EXPECT_FALSE(std::filesystem::is_empty(former));
  refuses_ = false;
  keeper_->resume();
  EXPECT_TRUE(until([&] { return std::filesystem::is_empty(former); }));
  EXPECT_EQ(kept_[false], "out");
}

// The disk of the broker is full in the middle of a file. What the job writes meanwhile, in another
// attempt, comes first then, and stays whole.
TEST_F(OutputSenderTest, WhatIsPutOffInTheMiddleGoesOnBehindWhatCameMeanwhile) {
  const std::string former = dir_ + "/holon-output-former";
  const std::string begun(msg::kMostKept, '1'), rest(msg::kMostKept, '2'), second = "second";
  std::filesystem::create_directory(former);
  std::ofstream(former + "/7.out.late") << begun + rest;
  std::ofstream(former + "/7.out") << second;
  keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output", former));
  refused_piece_ = 1;
  keeper_->resume();
  EXPECT_TRUE(until([&] { return pieces_ == 2; }));
  auto again = job("third");
  again.attempt = 2;
  EXPECT_TRUE(deliver(again));
  EXPECT_TRUE(kept_[false] == begun + "third");
  keeper_->resume();
  EXPECT_TRUE(until([&] { return std::filesystem::is_empty(former); }));
  EXPECT_TRUE(kept_[false] == begun + "third" + rest + second);
}

// The next broker, too, gets the rest of a file that it has in part before what was put off.
TEST_F(OutputSenderTest, WhatIsPutOffDoesNotComeInTheMiddleOfAnotherFile) {
  const std::string former = dir_ + "/holon-output-former";
  const std::string late(msg::kMostKept + 3, '1'), own(2 * msg::kMostKept, '2');
  std::filesystem::create_directory(former);
  std::ofstream(former + "/7.out") << late;
  keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output", former));
  refused_piece_ = 0;
  silent_piece_ = 2;
  keeper_->resume();
  EXPECT_TRUE(until([&] { return pieces_ == 1; }));
  auto again = job(own);
  again.attempt = 1;
  bool done = false;
  EXPECT_TRUE(keeper_->deliver(again, [&] { done = true; }));
  EXPECT_TRUE(until([&] { return pieces_ == 3; }));
  server_.reset();
  unanswered_.clear();
  EXPECT_TRUE(until([&] { return !broker_->connected(); }));
  keeper_->pause();
  listen();
  EXPECT_TRUE(until([&] { return broker_->connected(); }));
  keeper_->resume();
  EXPECT_TRUE(until([&] { return done && std::filesystem::is_empty(former); }));
  EXPECT_TRUE(kept_[false] == own + late);
}

TEST_F(OutputSenderTest, GivenUpWhatIsPutOffGoes) {
  const std::string former = dir_ + "/holon-output-former";
  std::filesystem::create_directory(former);
  std::ofstream(former + "/7.out") << "out";
  keeper_ = std::move(*OutputSender::create(*reactor_, *broker_, "/of/the/broker/output", former));
  refuses_ = true;
  keeper_->resume();
  EXPECT_TRUE(until([&] { return late_ == 1; }));
  EXPECT_TRUE(deliver(job("another's")));
  keeper_->give_up();
  EXPECT_TRUE(std::filesystem::is_empty(former));
}

// An agent that is killed while it begins leaves the note of the one before, whose folder it has.
TEST_F(OutputSenderTest, ANoteThatIsThereIsNotTouched) {
  const std::string folder = dir_ + "/" + kOutputFolder + "former", note = dir_ + "/output-folder";
  std::filesystem::create_directory(folder);
  note_output_folder(dir_, folder);
  EXPECT_EQ(noted_output_folder(dir_), folder);
  const auto long_ago = std::filesystem::last_write_time(note) - std::chrono::hours(1);
  std::filesystem::last_write_time(note, long_ago);
  note_output_folder(dir_, folder);
  EXPECT_EQ(std::filesystem::last_write_time(note), long_ago);
  std::filesystem::rename(folder, folder + "-next");
  note_output_folder(dir_, folder + "-next");
  EXPECT_EQ(noted_output_folder(dir_), folder + "-next");
}

TEST_F(OutputSenderTest, AMarkTellsWhoseFilesTheseAre) {
  std::ofstream(dir_ + "/mark") << "4711";
  EXPECT_TRUE(OutputSender::sees({"", dir_ + "/mark", "4711"}));
  EXPECT_FALSE(OutputSender::sees({"", dir_ + "/mark", "4712"}));
  EXPECT_FALSE(OutputSender::sees({"", dir_ + "/none", "4711"}));
}

}  // namespace
}  // namespace holon::launch
