// What is removed a little at a time, and what cannot be.
#include "instance/manager/retention.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "transport/unique_fd.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

// Folders in each other until the path of the innermost one is longer than any call takes.
void make_too_deep(const fs::path& folder) {
  const std::string name(200, 'd');
  transport::UniqueFd at(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 25; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0700), 0);
    at.reset(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
}

TEST(SlowRemoval, AFolderThatCannotBeRemovedStaysAndTheOthersGo) {
  std::string name = ::testing::TempDir() + "holon-removal-XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path gone = fs::path(name) / "gone";
  fs::create_directories(gone / "a" / "b");
  std::ofstream(gone / "a" / "file") << "x";
  make_too_deep(gone);
  SlowRemoval removal;
  removal.add(gone);
  int steps = 0;
  while (removal.step(10)) ASSERT_LT(++steps, 1000) << "it tries for ever";
  EXPECT_FALSE(fs::exists(gone / "a"));
  EXPECT_TRUE(fs::exists(gone));
  EXPECT_EQ(std::system(("rm -rf '" + name + "'").c_str()), 0);
}

}  // namespace
}  // namespace holon::instance
