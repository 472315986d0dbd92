#include "base/descriptors/writing.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace holon {
namespace {

std::string all_from(int fd) {
  std::string all;
  std::array<char, 1000> piece;
  for (ssize_t n = 0; (n = read(fd, piece.data(), piece.size())) > 0;)
    all.append(piece.data(), static_cast<std::size_t>(n));
  return all;
}

// More than the pipe holds, through an end that does not wait for room.
TEST(Writing, WaitsForRoom) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  std::string bytes;
  for (int i = 0; bytes.size() < std::size_t{1} << 20; ++i) bytes += std::to_string(i);
  std::string came;
  std::thread reader([&] { came = all_from(ends[0]); });
  EXPECT_TRUE(write_all(ends[1], bytes));
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(came, bytes);
}

TEST(Writing, SaysWhyNotAllIsThere) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const auto written = write_all(full, "x", "the disk");
  close(full);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), (Error{Errc::system, std::strerror(ENOSPC), "the disk"}));
}

TEST(Writing, EndsWithTheLastReader) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  close(ends[0]);
  EXPECT_FALSE(write_all(ends[1], "x"));
  close(ends[1]);
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace holon
