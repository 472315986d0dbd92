// What is no file that can be read is an error, whatever it is.
#include "base/whole_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(WholeFile, WhatHasNoEndIsRefused) {
  EXPECT_EQ(read_whole_file("/dev/zero", 1'000).error().code, Errc::out_of_range);
}

}  // namespace
}  // namespace holon
