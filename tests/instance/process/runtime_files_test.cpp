// Runtime directories of supervisors that were killed are removed by others, and nothing else is.
#include "instance/process/runtime_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launch/remote/output_note.hpp"
#include "places.hpp"  // written by CMake
#include "transport/endpoint.hpp"

namespace holon::instance {
namespace {

namespace fs = std::filesystem;

constexpr time_t kYoungAge = kYoungRuntimeDir / 1'000;  // s; an older one is not young

class AbandonedDirs : public ::testing::Test {
 protected:
  AbandonedDirs() {
    std::string pattern = fs::temp_directory_path() / "abandoned-XXXXXX";
    base_ = mkdtemp(pattern.data());
  }
  ~AbandonedDirs() override { fs::remove_all(base_); }

  // As a supervisor leaves it that has ended `age` seconds after it began.
  std::string make(const std::string& name, time_t age) const {
    const std::string dir = base_ + "/" + name;
    fs::create_directory(dir);
    for (const char* file : {"instance.json", transport::SupervisorLock::kFile}) {
      const std::string path = dir + "/" + file;
      std::ofstream(path) << "{}";
      const timespec then{time(nullptr) - age, 0};
      const timespec times[] = {then, then};
      EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    }
    return dir;
  }
  std::string make_without_lock(const std::string& name, time_t age) const {
    const std::string dir = make(name, age);
    fs::remove(dir + "/" + transport::SupervisorLock::kFile);
    return dir;
  }

  std::string base_;
};

TEST_F(AbandonedDirs, OldOnesWithoutASupervisorAreRemoved) {
  const auto old = make("holon-abcdef", 3600);
  const auto of_a_short_life = make("holon-short1", kYoungAge + 1);
  const auto never_begun = make_without_lock("holon-begun1", 3 * 3600);
  remove_abandoned_runtime_dirs(base_);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(of_a_short_life));
  EXPECT_FALSE(fs::exists(never_begun));
}

TEST_F(AbandonedDirs, AKilledAgentsGoesWithTheOutputThatItKept) {
  const auto dir = make("holon-agent1", 3600);
  fs::rename(dir + "/instance.json", dir + "/" + kAgentFile);
  const auto output = base_ + "/holon-output-abcdef", foreign = base_ + "/somebodys";
  for (const auto& folder : {output, foreign}) fs::create_directory(folder);
  launch::note_output_folder(dir, output);
  const auto misled = make("holon-agent2", 3600);
  launch::note_output_folder(misled, foreign);
  remove_abandoned_runtime_dirs(base_);
  for (const auto& gone : {dir, output, misled}) EXPECT_FALSE(fs::exists(gone)) << gone;
  EXPECT_TRUE(fs::exists(foreign)) << "no folder of an agent's is called so";
}

// Of an instance that nobody starts again.
TEST_F(AbandonedDirs, AnInstanceThatEndsRemovesThoseOfOthers) {
  const std::string dirs = "TMPDIR=" + base_ + " XDG_RUNTIME_DIR=" + base_;
  const auto young = base_ + "/holon-killed";
  const auto script = base_ + "/program";
  fs::create_directory(base_ + "/other");
  // It comes behind the look that a supervisor has as it begins.
  std::ofstream(script) << "for i in $(seq 300); do [ -e " << base_
                        << "/holon-before ] || break; sleep 0.1; done\n"
                        << "mv " << base_ << "/other/holon-killed " << base_ << "\n";
  make("holon-before", 3600);
  make("other/holon-killed", 3600);
  const std::string command =
      dirs + " exec " HOLON_BINARY " start --resources node=1/core=1 --state-dir " + base_ +
      "/state sh " + script;
  EXPECT_EQ(system(command.c_str()), 0);
  EXPECT_FALSE(fs::exists(base_ + "/other/holon-killed")) << "the program has moved it";
  EXPECT_FALSE(fs::exists(young));
}

TEST_F(AbandonedDirs, YoungOnesStay) {
  constexpr time_t kAge = kYoungAge / 2;
  std::string young;
  // Where this process got no processor for that long, it is young no more, and another one is
  // made.
  for (time_t began = 0; time(nullptr) - began > kYoungAge - kAge;) {
    began = time(nullptr);
    young = make("holon-young1", kAge);
    remove_abandoned_runtime_dirs(base_);
  }
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(AbandonedDirs, OthersStay) {
  const auto named_otherwise = make("holon-campaign", 3600);
  const auto held = make("holon-held12", 3600);
  transport::SupervisorLock lock(held);
  lock.take();
  const auto of_nobody = make("holon-nobody", 3600);
  fs::remove(of_nobody + "/instance.json");
  const auto may_begin = make_without_lock("holon-begin2", 3600);
  remove_abandoned_runtime_dirs(base_);
  for (const auto& dir : {named_otherwise, held, of_nobody, may_begin})
    EXPECT_TRUE(fs::exists(dir)) << dir;
}

TEST(RuntimeDirs, AreKnownByTheirNames) {
  const auto made = transport::make_runtime_dir();
  ASSERT_TRUE(made);
  EXPECT_TRUE(transport::is_runtime_dir_name(fs::path(*made).filename()));
  fs::remove(*made);
  EXPECT_FALSE(transport::is_runtime_dir_name("holon-state-1000"));
  EXPECT_FALSE(transport::is_runtime_dir_name("other-abcdef"));
}

}  // namespace
}  // namespace holon::instance
