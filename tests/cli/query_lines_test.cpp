#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "cli/query/lines.hpp"

namespace holon::cli::query {
namespace {

// Both ends of a pipe.
struct Pipe {
  std::array<int, 2> ends{};
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    ::close(ends[0]);
    close_writer();
  }
  void write(const std::string& text) {
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_writer() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
};

TEST(QueryLines, GivesOutAllItHasBeforeItWaits) {
  Pipe pipe;
  int waits = 0;
  const auto lines = descriptor_lines(pipe.ends[0], [&] { ++waits; });
  pipe.write("first\n\nthird\nfou");
  EXPECT_EQ(lines->next(), "first");
  EXPECT_EQ(lines->next(), "");
  EXPECT_EQ(lines->next(), "third");
  EXPECT_EQ(waits, 1);
  pipe.write("rth\nlast");
  EXPECT_EQ(lines->next(), "fourth");
  EXPECT_EQ(waits, 2);
  pipe.close_writer();
  EXPECT_EQ(lines->next(), "last");
  EXPECT_EQ(lines->next(), std::nullopt);
  EXPECT_EQ(lines->next(), std::nullopt);
}

TEST(QueryLines, ALineMayBeLongerThanABlock) {
  Pipe pipe;
  const auto lines = descriptor_lines(pipe.ends[0], [] {});
  const std::string part(30000, 'x');
  pipe.write(part);
  pipe.write(part);
  pipe.write("\ny\n");
  pipe.close_writer();
  EXPECT_EQ(lines->next(), part + part);
  EXPECT_EQ(lines->next(), "y");
  EXPECT_EQ(lines->next(), std::nullopt);
}

}  // namespace
}  // namespace holon::cli::query
