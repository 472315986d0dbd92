#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "launch/mpi/pmix_wire_up.hpp"

namespace holon::launch {
namespace {

using testing::ElementsAre;

// A static holon is installed with a helper beside it, which loads the library that it cannot load.
TEST(PmixServer, IsTheHelperWhereOneIsInstalledAndElseTheProgramItself) {
  std::string folder = std::filesystem::temp_directory_path() / "holon-pmix-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string binary = folder + "/bin/holon", helper = folder + "/libexec/holon/holon-pmix";
  EXPECT_THAT(pmix_server_command(binary), ElementsAre(binary, "pmix"));
  std::filesystem::create_directories(folder + "/libexec/holon");
  std::ofstream(helper) << "#!/bin/sh\n";
  chmod(helper.c_str(), 0644);
  EXPECT_THAT(pmix_server_command(binary), ElementsAre(binary, "pmix")) << "it cannot be started";
  chmod(helper.c_str(), 0755);
  EXPECT_THAT(pmix_server_command(binary), ElementsAre(helper));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace holon::launch
