// The parts that MPI jobs are served with: folders, framed messages, fences, and what a program is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launch/mpi/part_fences.hpp"
#include "launch/mpi/part_ranks.hpp"
#include "launch/mpi/pmix_messages.hpp"
#include "launch/mpi/program_kind.hpp"
#include "tests/launch/fixture.hpp"

namespace holon::launch {
namespace {

class MpiFiles : public testing::Test {
 protected:
  void SetUp() override { dir_ = *transport::make_runtime_dir(); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string dir_;
};

TEST_F(MpiFiles, AProgramOfOpenMpiIsKnownByTheNameOfItsLibrary) {
  using namespace std::string_literals;
  const auto program = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir_ + "/" + name) << text;
    return name;
  };
  const std::map<std::string, std::string> env = {{"PATH", "/nowhere:" + dir_}};
  const std::string elf = "\x7f"s + "ELF..";
  EXPECT_TRUE(names_open_mpi({program("a", elf + "\0libmpi.so.40\0.."s)}, env, "/"));
  EXPECT_TRUE(names_open_mpi({"./a"}, {}, dir_));
  EXPECT_FALSE(names_open_mpi({"./nothing"}, {}, dir_));
  EXPECT_FALSE(names_open_mpi({program("b", elf + "\0libmpich.so.12\0.."s)}, env, "/"));
  EXPECT_FALSE(names_open_mpi({program("c", "#!/bin/sh\n\0libmpi.so.40\0"s)}, env, "/"));
  EXPECT_FALSE(names_open_mpi({}, env, "/"));
}

TEST(PmixMessages, ComeOutAsTheyWentInHoweverTheyAreCut) {
  const std::string bytes =
      pmix::framed("") + pmix::framed("one") + pmix::framed(std::string(300, 'x'));
  std::string buffer;
  std::vector<std::string> got;
  for (const char c : bytes) {
    buffer += c;
    const auto message = pmix::take_framed(buffer, 300);
    ASSERT_TRUE(message);
    if (*message) got.push_back(**message);
  }
  EXPECT_EQ(got, (std::vector<std::string>{"", "one", std::string(300, 'x')}));
  buffer = pmix::framed(std::string(301, 'x'));
  EXPECT_EQ(pmix::take_framed(buffer, 300).error().code, Errc::protocol);
}

TEST(PartFences, KeepTheLastTwoAndEndOnlyTheOneThatIsWaitedIn) {
  PartFences fences(7);
  EXPECT_TRUE(fences.to_say_again().empty());
  EXPECT_EQ(fences.enter("a").round, 1u);
  EXPECT_FALSE(fences.release(2));
  EXPECT_TRUE(fences.release(1));
  EXPECT_FALSE(fences.release(1)) << "the answer to what was said again";
  fences.enter("b");
  ASSERT_TRUE(fences.release(2));
  EXPECT_EQ(fences.enter("c").round, 3u);
  ASSERT_EQ(fences.to_say_again().size(), 2u);
  EXPECT_EQ(fences.to_say_again().front().data, "b");
  EXPECT_EQ(fences.to_say_again().back().data, "c");
  EXPECT_TRUE(fences.is_waiting());
}

TEST(PartRanks, AreThoseOfTheTasksAndAPartThatIsNotThereIsRefused) {
  msg::Start start;
  start.ntasks = 2;
  start.tasks.resize(2);
  start.tasks[1].rank = 1;
  const auto all = ranks_by_part(start);
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_EQ(*all, (std::vector<std::vector<std::uint32_t>>{{0, 1}}));
  start.part = 1;
  EXPECT_FALSE(ranks_by_part(start));
  start.part_tasks = {2};
  EXPECT_FALSE(ranks_by_part(start));
}

}  // namespace
}  // namespace holon::launch
