// An instance keeps its id for as long as its state directory is there, and knows that it had a
// journal.
#include "instance/journal/instance_id.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace holon::instance {
namespace {

class InstanceIdTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "holon-id-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string dir_;
};

TEST_F(InstanceIdTest, IsMadeOnceAndKept) {
  EXPECT_FALSE(*read_instance_id(dir_));
  const auto id = instance_id(dir_);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->size(), 32u);
  EXPECT_EQ(*instance_id(dir_), *id);
  EXPECT_FALSE((*read_instance_id(dir_))->has_journal);
  ASSERT_TRUE(keep_instance_id(dir_, *id));
  EXPECT_EQ(*instance_id(dir_), *id);
  EXPECT_TRUE((*read_instance_id(dir_))->has_journal);
}

TEST_F(InstanceIdTest, DiffersFromEveryOtherOne) {
  std::filesystem::create_directory(dir_ + "/other");
  EXPECT_NE(*instance_id(dir_), *instance_id(dir_ + "/other"));
}

TEST_F(InstanceIdTest, AFileThatHoldsNoneIsNamed) {
  std::ofstream(dir_ + "/instance.id") << "hello\n";
  const auto id = instance_id(dir_);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, Errc::invalid_argument);
  EXPECT_EQ(id.error().where, dir_ + "/instance.id");
}

TEST_F(InstanceIdTest, ADirectoryThatIsNotThereIsAnError) {
  EXPECT_EQ(instance_id(dir_ + "/none").error().code, Errc::system);
}

}  // namespace
}  // namespace holon::instance
