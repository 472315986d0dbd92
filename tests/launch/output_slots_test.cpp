// Slots: files for the output of one job after the other, and whose it is when an agent was killed.
#include "launch/streams/output_slots.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

namespace holon::launch {
namespace {

namespace fs = std::filesystem;

class Slots : public testing::Test {
 protected:
  Slots() {
    std::string name = fs::temp_directory_path() / "holon-slots-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~Slots() override { fs::remove_all(dir_); }

  msg::Start job(std::uint64_t id) const {
    msg::Start start;
    start.job = id;
    start.output = dir_ + "/" + std::to_string(id) + ".out";
    start.error = dir_ + "/" + std::to_string(id) + ".err";
    return start;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir_), fs::directory_iterator()));
  }
  static void write(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::app) << text;
  }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  std::string dir_;
};

TEST_F(Slots, OneThatNobodyWroteIntoIsUsedAgain) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  std::string path;
  for (std::uint64_t id = 1; id < 100; ++id) {
    const auto slot = slots->take(job(id));
    ASSERT_TRUE(slot);
    EXPECT_TRUE(id == 1 || slot->output() == path);
    path = slot->output();
    const auto written = slot->end(job(id), false);
    EXPECT_TRUE(written.output.empty() && written.error.empty());
    slot->release();
  }
  EXPECT_EQ(files(), 3u) << "two of the slot, and the table";
}

TEST_F(Slots, LittleIsHandedOverAndGoneOnceItIsReleased) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  auto slot = slots->take(job(1));
  write(slot->output(), "out");
  write(slot->error(), "err");
  const auto written = slot->end(job(1), false);
  EXPECT_EQ(written.output, "out");
  EXPECT_EQ(written.error, "err");
  const auto other = slots->take(job(2));
  EXPECT_NE(other->output(), slot->output()) << "it is kept until somebody else has it";
  EXPECT_EQ(read(slot->output()), "out");
  const std::string path = slot->output();
  slot->release();
  EXPECT_EQ(slots->take(job(3))->output(), path);
  EXPECT_EQ(read(path), "");
  EXPECT_FALSE(fs::exists(job(1).output));
}

TEST_F(Slots, TheNextTaskFindsItsOutputAsIfNobodyHadWrittenThere) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  for (std::uint64_t id = 1; id < 4; ++id) {
    const auto slot = slots->take(job(id));
    const int out = slot->appending_to(slot->output()).get(),
              err = slot->appending_to(slot->error()).get();
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), 0);
    EXPECT_EQ(lseek(err, 0, SEEK_CUR), 0);
    EXPECT_EQ(::write(out, "out", 3), 3);
    lseek(out, 0, SEEK_SET);
    EXPECT_EQ(::write(out, "more", 4), 4) << "behind what is there";
    EXPECT_EQ(::write(err, "err", 3), 3);
    // The second one's are renamed, and the next job's are others.
    const auto written = slot->end(job(id), id == 2);
    EXPECT_EQ(written.output, id == 2 ? "" : "outmore");
    EXPECT_EQ(written.error, id == 2 ? "" : "err");
    slot->release();
  }
  EXPECT_EQ(read(job(2).output), "outmore");
  EXPECT_EQ(read(job(2).error), "err");
}

// A task has a copy of the slot's descriptor: neither lock is released by its end.
TEST_F(Slots, NoLockOutlivesTheTaskThatTookIt) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  struct flock whole {};
  whole.l_whence = SEEK_SET;
  for (std::uint64_t id = 1; id < 4; ++id) {
    const auto slot = slots->take(job(id));
    const std::string path = slot->output();
    const int out = slot->appending_to(path).get();
    if (id == 2) write(path, "out");
    ASSERT_EQ(flock(out, LOCK_EX | LOCK_NB), 0);
    whole.l_type = F_WRLCK;
    ASSERT_EQ(fcntl(out, F_OFD_SETLK, &whole), 0);
    lseek(out, 5, SEEK_SET);
    slot->end(job(id), false);
    slot->release();
    const transport::UniqueFd other(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
    whole.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(other.get(), F_OFD_SETLK, &whole), 0);
    EXPECT_EQ(lseek(out, 0, SEEK_CUR), 0) << "also where nothing was written";
  }
}

// A task may pass its descriptor to a process that outlives it.
TEST_F(Slots, WhatOneUserHasKeptOpenIsNoFileOfAnothers) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  const auto of = [this](std::uint64_t id, const char* user) {
    auto start = job(id);
    start.user = user;
    return start;
  };
  std::vector<transport::UniqueFd> kept;
  for (std::uint64_t id = 1; id < 40; ++id) {
    const char* const user = id % 3 == 0 ? "ann" : id % 3 == 1 ? "bob" : "eve";
    auto slot = slots->take(of(id, user));
    ASSERT_TRUE(slot);
    write(slot->output(), user);
    write(slot->error(), user);
    for (const auto& fd : kept) {
      ASSERT_EQ(ftruncate(fd.get(), 0), 0);
      ASSERT_EQ(::write(fd.get(), "forged", 6), 6);
    }
    for (const auto& path : {slot->output(), slot->error()})
      kept.emplace_back(dup(slot->appending_to(path).get()));
    const auto written = slot->end(of(id, user), false);
    EXPECT_EQ(written.output, user);
    EXPECT_EQ(written.error, user);
    slot->release();
  }
  EXPECT_EQ(files(), 3u) << "no more slots than jobs at once";
}

// Renewing files is what another user's job costs, so it gets a slot of its own user's if there is.
TEST_F(Slots, AUserGetsTheSlotThatTheUsersJobsHaveHad) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  auto of_ann = job(1), of_bob = job(2);
  of_ann.user = "ann";
  of_bob.user = "bob";
  auto first = slots->take(of_ann), second = slots->take(of_bob);
  const std::string path = first->output();
  first->release();
  second->release();
  EXPECT_EQ(slots->take(of_ann)->output(), path);
}

TEST_F(Slots, MuchBecomesTheJobsOwnFiles) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  const auto slot = slots->take(job(1));
  const std::string much(OutputSlot::kLittle + 1, 'x');
  write(slot->output(), much);
  const auto written = slot->end(job(1), false);
  EXPECT_TRUE(written.output.empty());
  EXPECT_EQ(read(job(1).output), much);
  EXPECT_FALSE(fs::exists(job(1).error)) << "nothing was written there";
  slot->release();
  EXPECT_EQ(read(slots->take(job(2))->output()), "");
  EXPECT_EQ(read(job(1).output), much);
}

TEST_F(Slots, WhatSomebodyReadsBecomesFiles) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  const auto slot = slots->take(job(1));
  write(slot->error(), "err");
  EXPECT_TRUE(slot->end(job(1), true).error.empty());
  EXPECT_EQ(read(job(1).error), "err");
}

TEST_F(Slots, WhatNobodyElseCouldKeepGoesBehindTheJobsFiles) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  auto slot = slots->take(job(1));
  const std::string path = slot->output();
  write(job(1).output, "before, ");
  write(slot->output(), "and on");
  write(slot->error(), "err");
  slot->end(job(1), false);
  slot->become_files();
  EXPECT_EQ(read(job(1).output), "before, and on");
  EXPECT_EQ(read(job(1).error), "err");
  const auto next = slots->take(job(2));
  EXPECT_EQ(next->output(), path) << "the slot is free";
  EXPECT_EQ(read(next->output()) + read(next->error()), "");
}

TEST_F(Slots, WhatCannotBecomeFilesStaysForTheNextAgent) {
  {
    const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
    auto slot = slots->take(job(1));
    write(slot->output(), "out");
    fs::create_directory(job(1).output);
    slot->end(job(1), false);
    slot->become_files();
    EXPECT_NE(slots->take(job(2))->output(), slot->output());
  }
  rescue_slots(dir_, 0, "");  // in vain, too
  fs::remove(job(1).output);
  rescue_slots(dir_, 0, "");
  EXPECT_EQ(read(job(1).output), "out");
}

TEST_F(Slots, OfAKilledAgentAreFiledUnderTheirJobs) {
  {
    const auto slots = std::make_shared<OutputSlots>(slots_of(3, 7));
    slots->take(job(1))->release();
    const auto lost = slots->take(job(2)), silent = slots->take(job(4));
    write(lost->output(), "half");
    const auto again = slots->take(job(5));
    write(job(5).error, "before, ");
    write(again->error(), "and on");
  }
  rescue_slots(dir_, 2, "");
  EXPECT_FALSE(fs::exists(job(2).output)) << "of another agent";
  rescue_slots(dir_, 3, slots_of(3, 7));
  EXPECT_FALSE(fs::exists(job(2).output)) << "it is alive";
  rescue_slots(dir_, 3, slots_of(3, 8));
  EXPECT_EQ(read(job(2).output), "half");
  EXPECT_EQ(read(job(5).error), "before, and on");
  EXPECT_EQ(files(), 2u) << "nothing else is left";
}

TEST_F(Slots, AFolderThatWasRemovedIsNoHarm) {
  const auto slots = std::make_shared<OutputSlots>(slots_of(0, 7));
  slots->take(job(1))->release();
  fs::remove_all(dir_);
  EXPECT_FALSE(slots->take(job(2)));
  fs::create_directory(dir_);
  const auto slot = slots->take(job(3));
  ASSERT_TRUE(slot);
  write(slot->output(), "there");
  EXPECT_EQ(slot->end(job(3), false).output, "there");
}

}  // namespace
}  // namespace holon::launch
