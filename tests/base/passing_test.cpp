// Descriptors that come with a message: all of them are known to the receiver, or closed.
#include "base/descriptors/passing.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

namespace holon {
namespace {

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class Passing : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_.data()), 0);
    file_ = memfd_create("passed", MFD_CLOEXEC);
    ASSERT_GE(file_, 0);
    ASSERT_EQ(pwrite(file_, "contents", 8, 0), 8);
    before_ = open_descriptors();
  }
  void TearDown() override {
    close_all(ends_);
    close(file_);
  }
  void send(std::string_view text, std::size_t descriptors) {
    const std::vector<int> all(descriptors, file_);
    ASSERT_TRUE(send_with_descriptors(ends_[0], bytes_of(text), all)) << std::strerror(errno);
  }
  Passed receive(std::size_t most) {
    return receive_with_descriptors(ends_[1], std::as_writable_bytes(std::span(room_)), most,
                                    MSG_DONTWAIT);
  }

  std::array<int, 2> ends_{};
  int file_ = -1;
  std::size_t before_ = 0;
  std::array<char, 16> room_{};
};

TEST_F(Passing, BringsBytesAndOpenFiles) {
  send("take these", 2);
  const Passed passed = receive(2);
  EXPECT_EQ(passed.size, 10);
  EXPECT_EQ(std::string(room_.data(), 10), "take these");
  EXPECT_TRUE(passed.has_all_bytes);
  EXPECT_TRUE(passed.has_all_descriptors);
  ASSERT_EQ(passed.descriptors.size(), 2U);
  std::array<char, 8> contents{};
  EXPECT_EQ(pread(passed.descriptors[1], contents.data(), 8, 0), 8);
  EXPECT_EQ(std::string(contents.data(), 8), "contents");
  EXPECT_NE(fcntl(passed.descriptors[0], F_GETFD) & FD_CLOEXEC, 0);
  close_all(passed.descriptors);
}

TEST_F(Passing, NothingHasCome) {
  const Passed none = receive(1);
  EXPECT_EQ(none.size, -1);
  EXPECT_EQ(none.error, EAGAIN);
  shutdown(ends_[0], SHUT_WR);
  EXPECT_EQ(receive(1).size, 0);
}

// One more than was asked for fits into the padding of what is asked for.
TEST_F(Passing, ClosesWhatIsBeyond) {
  for (const std::size_t sent : {2UL, 3UL, kMostPassed}) {
    send("x", sent);
    const Passed passed = receive(1);
    EXPECT_EQ(passed.size, 1);
    EXPECT_FALSE(passed.has_all_descriptors);
    ASSERT_EQ(passed.descriptors.size(), 1U);
    close_all(passed.descriptors);
    EXPECT_EQ(open_descriptors(), before_);
  }
}

TEST_F(Passing, SaysThatBytesWereLeftOut) {
  send(std::string(room_.size() + 1, 'x'), 1);
  const Passed passed = receive(1);
  EXPECT_FALSE(passed.has_all_bytes);
  EXPECT_TRUE(passed.has_all_descriptors);
  close_all(passed.descriptors);
}

TEST_F(Passing, SaysThatThisProcessMayOpenNoMore) {
  send("x", 1);
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Passed passed = receive(1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(passed.size, 1);
  EXPECT_FALSE(passed.has_all_descriptors);
  EXPECT_TRUE(passed.descriptors.empty());
}

// The header with them is not always the first one.
TEST_F(Passing, FindsThemBehindOtherHeaders) {
  const int on = 1;
  ASSERT_EQ(setsockopt(ends_[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  send("x", 1);
  const Passed passed = receive(1);
  EXPECT_TRUE(passed.has_all_descriptors);
  EXPECT_EQ(passed.descriptors.size(), 1U);
  close_all(passed.descriptors);
}

}  // namespace
}  // namespace holon
