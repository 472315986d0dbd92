// What is written about grants is read again as it was, whoever's clock it is read by.
#include "instance/grants/grant_codec.hpp"

#include <gtest/gtest.h>

namespace holon::instance {
namespace {

namespace h = holdings;
namespace he = holdings::entry;

h::Units units(const char* text) {
  return *Idset::parse(text);
}

h::Extend some_extend() {
  h::Extend extend;
  extend.op = 4;
  extend.from = 2;
  extend.units = units("3,5-9");
  extend.source = h::Source::spare;
  extend.until = 9'000;
  extend.notice = 60;
  extend.answers = 3;
  extend.replaces = units("1");
  extend.fence = 60'000;
  return extend;
}

TEST(GrantCodec, ReadsEachMessageAsItWasWritten) {
  h::Demand demand;
  demand.op = 1;
  demand.wants = {{"core", 1, 4, 700, 2, 30}, {"gpu", 1, 1, kTimeMax, 0, 0}};
  demand.idle = {{units("2"), 800}};
  demand.share = -3;
  demand.pending = 5;
  const std::vector<h::Message> all = {demand,
                                       h::Ask{1, "{\"a\": \"\\u0000\"}", 1, 2, 500, kTimeMax},
                                       h::Hello{7},
                                       h::Will{2, {{units("1-2"), 600}}},
                                       h::Ready{3, true, "why"},
                                       some_extend(),
                                       h::Taken{4},
                                       h::Refused{4, "no"},
                                       h::Release{5, 1, units("8"), 650, 10},
                                       h::Ack{5},
                                       h::Stale{6},
                                       h::Recall{7, units("1"), 520, h::RecallMode::kill, "for /2"},
                                       h::Lease{8, kTimeMax},
                                       h::Fenced{9, "gone"},
                                       h::Fenced{9, "silent", units("0-1,4")},
                                       h::Welcome{3},
                                       h::Promise{1, kTimeMax},
                                       h::No{1, "why", "help"},
                                       h::No{2, "why", "", true},
                                       h::Fenced{9, "silent", units("0"), units("4")},
                                       h::Reclaim{3, units("1"), 520, h::RecallMode::kill, "now"}};
  for (const h::Message& message : all) {
    const auto read = parse_message(text_of(message, 0), 0);
    ASSERT_TRUE(read) << name_of(message) << ": " << read.error().what;
    EXPECT_EQ(*read, message) << name_of(message);
  }
}

TEST(GrantCodec, TellsTimesByTheReadersClock) {
  const auto read = parse_message(text_of(some_extend(), 1'000), 50'000);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<h::Extend>(*read).until, 58'000);
  const auto lease = parse_message(text_of(h::Lease{1, kTimeMax}, 1'000), 50'000);
  EXPECT_EQ(std::get<h::Lease>(*lease).until, kTimeMax);
}

// An entry has no comparison of its own: what it makes of a book is compared.
TEST(GrantCodec, EntriesThatWereWrittenMakeTheSameBook) {
  h::Extend extend;
  extend.op = 2;
  extend.units = units("4-7");
  extend.until = 500;
  const JobId child(3);
  const std::vector<h::Entry> entries = {
      he::Granted{units("0-9"), 10'000},
      he::Placed{units("8")},
      he::Vacated{units("8")},
      he::Began{child, units("0-3"), 10'000},
      he::Asked{h::Ask{1, "spec", 1, 2, 3, 4}},
      he::Answered{child, 1, h::Promise{1, 40}},
      he::Offered{child, extend},
      he::Settled{child, 2, true},
      he::AskedBack{child, h::Recall{3, units("4-7"), 30, h::RecallMode::idle, "x"}},
      he::AskedBack{child, h::Recall{4, units("4"), 30, h::RecallMode::lost, "y"}},
      he::Draining{child, units("4-7")},
      he::Returned{child, h::Release{4, 1, units("4-7"), kTimeMax, 0}},
      he::Gone{child, units("4-7")},
      he::Leased{child, h::Lease{5, 90}},
      he::Returned{child, h::Release{6, 2, units("3"), 700, 0}},
      he::Reclaimed{child, h::Reclaim{7, units("3"), 50, h::RecallMode::kill, "z"}},
      he::Raised{child, 5, "silent", units("1-2")},
      he::Gone{child, units("1-2")},
      he::Raised{child, 9, "beyond reach"},
      he::Over{child}};
  h::Book as_it_was, as_read;
  for (const h::Entry& entry : entries) {
    const auto read = parse_entry(text_of(entry, 0), 0);
    ASSERT_TRUE(read) << h::name_of(entry) << ": " << read.error().what;
    const auto before = fold(as_it_was, entry), after = fold(as_read, *read);
    ASSERT_TRUE(before) << before.error().what;
    ASSERT_TRUE(after) << h::name_of(entry) << ": " << after.error().what;
    as_it_was = *before;
    as_read = *after;
    ASSERT_EQ(as_read, as_it_was) << h::name_of(entry);
  }
}

TEST(GrantCodec, RefusesWhatIsNoMessage) {
  for (const char* text : {"", "7", "{}", R"({"is":"taken"})", R"({"is":"taken","what":{}})",
                           R"({"is":"taken","what":{"op":"x"}})", R"({"is":"lent","what":{}})",
                           R"({"is":"recall","what":{"op":1,"units":"1","mode":9,"why":""}})",
                           R"({"is":"recall","what":{"op":1,"units":"2-1","mode":0,"why":""}})"}) {
    const auto read = parse_message(text, 0);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::protocol) << text;
  }
}

}  // namespace
}  // namespace holon::instance
