// What is no file that can be read is an error, whatever it is.
#include "base/whole_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

namespace holon {
namespace {

Errc code_of(const std::string& path) {
  const auto read = read_whole_file(path);
  EXPECT_FALSE(read) << path;
  return read ? Errc::busy : read.error().code;
}

TEST(WholeFile, AFolderAndWhatCannotBeReadAreErrors) {
  EXPECT_EQ(code_of("/"), Errc::invalid_argument);
  EXPECT_EQ(code_of("/proc/self/mem"), Errc::system);
  EXPECT_EQ(code_of("/no-such-file"), Errc::not_found);
  EXPECT_EQ(code_of("/dev/null/below"), Errc::not_found);
}

TEST(WholeFile, APipeIsReadToItsEnd) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "a\nb", 3), 3);
  close(ends[1]);
  const auto read = read_whole_file("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, "a\nb");
  EXPECT_EQ(read_whole_file("/dev/null"), "");
}

// What programs of Node.js and systemd hand over has no name, and does not wait by itself.
TEST(WholeFile, StandardInputMayBeASocket) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const int before = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  std::thread writer([&] {
    EXPECT_EQ(write(ends[1], "a\nb", 3), 3);
    close(ends[1]);
  });
  const auto read = read_whole_file("/dev/stdin");
  writer.join();
  EXPECT_TRUE(fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK) << "it is the caller's, too";
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, "a\nb");
}

TEST(WholeFile, APipeThatNobodyWritesIntoIsNotWaitedFor) {
  const std::string fifo = ::testing::TempDir() + "holon-fifo-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(code_of(fifo), Errc::invalid_argument);
  unlink(fifo.c_str());
}

// Nobody writes into the pipe: it is not waited for.
TEST(WholeFile, ARegularFileIsNoPipeAndNoDevice) {
  const std::string fifo = ::testing::TempDir() + "holon-pipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/null"), std::string("/")}) {
    const auto read = read_regular_file(path, 1'000);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, Errc::invalid_argument) << path;
  }
  EXPECT_EQ(read_regular_file(fifo + "-none", 1'000).error().code, Errc::not_found);
  unlink(fifo.c_str());
}

TEST(WholeFile, WhatHasNoEndIsRefused) {
  EXPECT_EQ(code_of("/dev/zero"), Errc::invalid_argument);
  EXPECT_FALSE(check_has_end("/dev/urandom"));
  EXPECT_TRUE(check_has_end("/dev/null"));
  EXPECT_TRUE(check_has_end("/no-such-file"));
  EXPECT_EQ(read_whole_file("/proc/self/exe", 1'000).error().code, Errc::out_of_range);
}

}  // namespace
}  // namespace holon
