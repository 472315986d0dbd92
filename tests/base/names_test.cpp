#include "base/names.hpp"

#include <gtest/gtest.h>
#include <pwd.h>

namespace holon {
namespace {

TEST(Names, ThatThereIsNoneIsNotThatItCouldNotBeAsked) {
  for (const int error : {0, ENOENT, ESRCH, EBADF, EPERM}) EXPECT_FALSE(could_not_ask(error));
  for (const int error : {EAGAIN, EIO, EMFILE, ETIMEDOUT}) EXPECT_TRUE(could_not_ask(error));
}

// This machine's C library answers so.
TEST(Names, NobodyOfThisMachineIsNone) {
  errno = 0;
  EXPECT_EQ(getpwnam("no-such-user-at-all"), nullptr);
  EXPECT_FALSE(could_not_ask(errno)) << errno;
}

}  // namespace
}  // namespace holon
