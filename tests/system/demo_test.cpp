// scripts/demo where something goes wrong; that it goes well is seen by running it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "places.hpp"  // written by CMake
#include "tests/system/sandbox.hpp"

namespace holon::system_test {
namespace {

using testing::HasSubstr;

// A demo that hangs tells nobody what is wrong.
TEST(Demo, OfWhichAChildFailsEndsAndSaysSo) {
  Sandbox sandbox;
  namespace fs = std::filesystem;
  const std::string demo = HOLON_SOURCE_DIR "/scripts/demo";
  auto& environment = sandbox.environment();
  environment["PATH"] = fs::path(HOLON_BINARY).parent_path().string() + ":" + environment["PATH"];
  // With one core the second child's first job asks for none.
  environment.insert({{"DEMO", demo}, {"DEMO_WORK", sandbox.folder()}, {"DEMO_HALF", "1"}});
  environment.insert({{"bold", ""}, {"dim", ""}, {"plain", ""}});
  for (const char* gate : {"fcfs.up", "fcfs.end", "easy.up", "grandchild.up", "grandchild.end"})
    ASSERT_EQ(mkfifo((sandbox.folder() + "/" + gate).c_str(), 0600), 0);
  const Ran ran = sandbox.run({"start", "--resources", "node=1/core=2", demo, "root"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("job 2 has ended before it was ready"));
  EXPECT_THAT(ran.err, HasSubstr("'0' is no number of tasks")) << "what the child said";
}

}  // namespace
}  // namespace holon::system_test
