// What is kept of tasks that are over, and which numbers and indices an array's tasks have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "instance/job/array.hpp"
#include "instance/job/ended.hpp"

namespace holon::instance {
namespace {

using ::testing::HasSubstr;

Lifecycle an_array() {
  Lifecycle life;
  life.submitted = true;
  life.state = JobState::run;
  life.user = "ada";
  life.urgency = 16;
  life.t_submit = 1'700'000'000'000;
  return life;
}

Lifecycle fold(Lifecycle life, const std::vector<Event>& events) {
  for (const Event& event : events) {
    auto next = apply(life, event);
    EXPECT_TRUE(next) << next.error().what;
    if (next) life = std::move(*next);
  }
  return life;
}

// A task that ran for 1.5 s.
Lifecycle a_task(int status) {
  const Time t = an_array().t_submit;
  return fold(fresh_task(an_array()),
              {{t + 1000, event::Alloc{"backfill", t + 61'000, {"n[1-2]", 2, 8, 1}, "mpi"}},
               {t + 1010, event::Start{{{4711, 99}}, 0}},
               {t + 2510, event::Finish{status, 1'400, 20'000}},
               {t + 2511, event::Release{}},
               {t + 2511, event::Free{}},
               {t + 2511, event::Clean{}}});
}

TEST(EndedTask, IsReadAsItWasWritten) {
  for (const int status : {0, 3 << 8, 9}) {
    const Lifecycle life = a_task(status);
    const auto read = unpack_ended(pack_ended(life), an_array());
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(*read, life);
  }
}

TEST(EndedTask, OneThatNeverRanSaysWhy) {
  const Time t = an_array().t_submit + 5;
  const Lifecycle life = fold(fresh_task(an_array()),
                              {{t, event::Exception{"cancel", 0, "enough"}}, {t, event::Clean{}}});
  const auto read = unpack_ended(pack_ended(life), an_array());
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, life);
  EXPECT_EQ(result_of(*read), "CANCELED");
}

TEST(EndedTask, TakesFewBytes) {
  EXPECT_LT(pack_ended(a_task(0)).size(), 50u);
}

TEST(EndedTask, ItsEventsMakeTheSameOfItAgain) {
  const Lifecycle life = a_task(3 << 8);
  Lifecycle again = fold(fresh_task(an_array()), events_of_ended(life));
  EXPECT_EQ(again, life);
}

TEST(EndedTask, BytesThatAreDamagedAreRefusedOrReadAsSomething) {
  const std::string good = pack_ended(a_task(0));
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(unpack_ended(std::string_view(good).substr(0, n), an_array())) << n;
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    static_cast<void>(unpack_ended(bytes, an_array()));
  }
}

TEST(ArrayShape, NumbersStandForIndices) {
  ArrayShape shape;  // 10, 15, 20, 25
  shape.id = JobId(7);
  shape.tasks = 4;
  shape.array.first = 10;
  shape.array.step = 5;
  EXPECT_EQ(shape.number_of(10), JobId(8));
  EXPECT_EQ(shape.number_of(25), JobId(11));
  EXPECT_EQ(shape.number_of(12), std::nullopt);
  EXPECT_EQ(shape.number_of(30), std::nullopt);
  EXPECT_EQ(shape.number_of(5), std::nullopt);
  Idset numbers;
  numbers.insert(8, 9);
  numbers.insert(11);
  EXPECT_EQ(shape.indices_of(numbers).str(), "10,15,25");
  EXPECT_THAT(shape.refusal(12, 12), HasSubstr("no task 7.12; its indices are 10 to 25 in steps"));
}

// Against each index by itself, of arrays with a step and with ranges of indices.
TEST(ArrayShape, RangesOfIndicesHaveTheNumbersOfEach) {
  std::mt19937 random(3);
  int whole = 0;
  for (int round = 0; round < 3'000; ++round) {
    ArrayShape shape;
    shape.id = JobId(100);
    shape.tasks = 1 + random() % 12;
    shape.array.first = 5;
    shape.array.step = 1 + static_cast<std::int64_t>(random() % 2);
    if (random() % 2 == 0) {
      Idset indices;
      for (std::uint64_t index = 5; indices.count() < shape.tasks; ++index)
        if (random() % 4 != 0) indices.insert(index);
      shape.array.indices = std::move(indices);
    }
    Idset asked, want;
    bool has_all = true;
    for (int n = 1 + static_cast<int>(random() % 2); n > 0; --n) {
      const std::uint64_t first = 5 + random() % 12;
      asked.insert(first, first + random() % 4);
    }
    for (const std::uint64_t index : asked.ids()) {
      const auto number = shape.number_of(index);
      has_all = has_all && number;
      if (number) want.insert(number->value());
    }
    const auto numbers = shape.numbers_of(asked);
    ASSERT_EQ(numbers.has_value(), has_all) << asked.str();
    if (!numbers) continue;
    ASSERT_EQ(*numbers, want) << asked.str();
    ASSERT_EQ(shape.indices_of(*numbers), asked);
    ++whole;
  }
  EXPECT_GT(whole, 300);
}

TEST(RemoveRange, TakesOutOfAnyPlace) {
  std::mt19937 random(1);
  for (int round = 0; round < 2'000; ++round) {
    Idset set;
    std::set<std::uint64_t> model;
    for (std::uint64_t id = 0; id < 40; ++id)
      if (random() % 3 != 0) {
        set.insert(id);
        model.insert(id);
      }
    const std::uint64_t first = random() % 40, last = first + random() % 10;
    remove_range(set, first, last);
    model.erase(model.lower_bound(first), model.upper_bound(last));
    const auto ids = set.ids();
    ASSERT_EQ(std::vector<std::uint64_t>(model.begin(), model.end()), ids);
  }
}

TEST(RemoveIds, TakesWhatAnotherSetHas) {
  std::mt19937 random(2);
  for (int round = 0; round < 2'000; ++round) {
    Idset set, gone;
    std::vector<std::uint64_t> left;
    const auto longest = round % 2 == 0 ? 3 : 30;  // ranges short and long
    for (std::uint64_t id = 0; id < 90; ++id)
      if (random() % 4 != 0) set.insert(id);
    for (std::uint64_t id = random() % 9; id < 90; id += 2 + random() % 40) {
      const std::uint64_t last = id + random() % longest;
      gone.insert(id, last);
      id = last;
    }
    for (const auto id : set.ids())
      if (!gone.contains(id)) left.push_back(id);
    remove_ids(set, gone);
    ASSERT_EQ(set.ids(), left);
  }
}

}  // namespace
}  // namespace holon::instance
