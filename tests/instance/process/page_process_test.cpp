// The process of `holon start --web`, when it cannot be watched.
#include "instance/assembly/page_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/no_descriptors.hpp"

namespace holon::instance {
namespace {

// The first page is watched and ends; the second one cannot be, and the third one can.
TEST(PageProcess, EndsAPageThatCannotBeWatchedAndStartsAnother) {
  std::string dir = ::testing::TempDir() + "holon-page-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  const std::string program = dir + "/page";
  std::ofstream(program) << "#!/bin/sh\nexec sleep 1000\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto reactor = transport::Reactor::create();
  ASSERT_TRUE(reactor) << to_string(reactor.error());
  std::string said;
  std::optional<tests::NoDescriptors> none;
  PageProcess page(
      **reactor,
      [&](const std::string& words) {
        said = words;
        none.reset();
      },
      [&] { (*reactor)->stop(); });
  page.start(program, dir);
  const pid_t first = page.pid();
  ASSERT_GT(first, 0);
  none.emplace(3);
  kill(first, SIGKILL);
  auto looks = (*reactor)->every(10, [&] {
    if (page.pid() > 0 && page.pid() != first && !said.empty()) (*reactor)->stop();
  });
  auto patience = (*reactor)->after(20'000, [&] { (*reactor)->stop(); });
  (*reactor)->run();
  EXPECT_NE(said.find("the page: "), std::string::npos) << said;
  const pid_t last = page.pid();
  EXPECT_GT(last, 0);
  looks.cancel();
  page.end();
  (*reactor)->run();
  EXPECT_EQ(page.pid(), 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a page is left";
  EXPECT_EQ(errno, ECHILD);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace holon::instance
