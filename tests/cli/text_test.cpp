// What people type and read: durations, sizes, paths, tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/options/job_options.hpp"
#include "cli/paths.hpp"
#include "cli/show/grant_text.hpp"
#include "cli/show/job_json.hpp"
#include "cli/show/table.hpp"
#include "cli/show/units.hpp"

namespace holon::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TimeLimits, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_limit("30s"), 30'000);
  EXPECT_EQ(parse_limit("5m"), 300'000);
  EXPECT_EQ(parse_limit("2h"), 7'200'000);
  EXPECT_EQ(parse_limit("1.5d"), 129'600'000);
  EXPECT_EQ(parse_limit("250ms"), 250);
  EXPECT_EQ(parse_limit("10"), 600'000) << "a bare number is minutes, as in Flux";
  EXPECT_EQ(parse_limit("0"), 0) << "no limit";
  EXPECT_EQ(parse_limit("inf"), 0) << "no limit";
}

TEST(TimeLimits, AreReadAsSlurmAndGridEngineWriteThem) {
  EXPECT_EQ(parse_limit("00:05:00"), 300'000);
  EXPECT_EQ(parse_limit("01:30:15"), 5'415'000);
  EXPECT_EQ(parse_limit("5:30"), 330'000) << "minutes and seconds";
  EXPECT_EQ(parse_limit("120:00:00"), 432'000'000) << "what stands first may exceed its unit";
  EXPECT_EQ(parse_limit("1-00"), 86'400'000);
  EXPECT_EQ(parse_limit("1-00:00"), 86'400'000);
  EXPECT_EQ(parse_limit("2-03:04:05"), 183'845'000);
}

TEST(TimeLimits, AreRefusedWithWhatIsAccepted) {
  for (const char* text : {"",      "s",        "5x",    "-5m",     "5m3",   "nan",   "5 m",
                           "1e30d", "0.0001ms", "1:60",  "1:2:3:4", "99:99", "00:60", "1-24:00",
                           "1-24",  "1-",       "-1:00", "1-2-3",   ":30",   "1:",    "1--1"}) {
    const auto limit = parse_limit(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_EQ(limit.error().code, Errc::invalid_argument);
  }
  EXPECT_THAT(parse_limit("5x").error().what, HasSubstr("accepted are 30s"));
}

TEST(Durations, AreShownWithTwoFigures) {
  EXPECT_EQ(show_duration(0), "0.00s");
  EXPECT_EQ(show_duration(217), "0.21s");
  EXPECT_EQ(show_duration(59'999), "59.9s");
  EXPECT_EQ(show_duration(252'000), "4m12s");
  EXPECT_EQ(show_duration(7'500'000), "2h05m");
  EXPECT_EQ(show_duration(273'600'000), "3d04h");
  EXPECT_EQ(show_duration(-1), "-");
}

TEST(Memory, IsReadInWholeGibibytes) {
  EXPECT_EQ(parse_memory("512M"), 512 << 20);
  EXPECT_EQ(whole_gib(*parse_memory("4G")), 4);
  EXPECT_EQ(whole_gib(*parse_memory("4")), 4);
  EXPECT_EQ(whole_gib(*parse_memory("512M")), 1);
  EXPECT_EQ(whole_gib(*parse_memory("1025M")), 2);
  EXPECT_EQ(whole_gib(*parse_memory("1T")), 1024);
  for (const char* text : {"", "G", "-1G", "0", "4X", "4GB", "1e99"})
    EXPECT_FALSE(parse_memory(text)) << text;
}

TEST(Jobs, AreNamedByIdRangeOrPath) {
  EXPECT_THAT(select_jobs({"7"})->ids, ElementsAre(7));
  EXPECT_THAT(select_jobs({"3-5", "9"})->ids, ElementsAre(3, 4, 5, 9));
  const auto child = select_jobs({"/3/7", "/3/8"});
  EXPECT_EQ(child->instance, "/3");
  EXPECT_THAT(child->ids, ElementsAre(7, 8));
  EXPECT_EQ(select_jobs({"/7"})->instance, "/");
  for (const char* word :
       {"", "x", "0", "-3", "5-3", "3-", "1-2000000", "/", "a/b", "3/7", "7.", "7.x", ".5"})
    EXPECT_FALSE(parse_jobs(word)) << word;
  EXPECT_THAT(select_jobs({"/3/7", "/4/8"}).error().what, HasSubstr("one command, one instance"));
}

TEST(EnvironmentRules, ApplyInOrder) {
  const Environment process = {{"HOME", "/h"}, {"PATH", "/bin"}, {"LD_A", "1"}, {"LD_B", "2"}};
  EXPECT_EQ(apply_environment(process, process, {"-LD_*", "X=1", "X=2"}),
            (Environment{{"HOME", "/h"}, {"PATH", "/bin"}, {"X", "2"}}));
  EXPECT_EQ(apply_environment(process, process, {"-*", "PATH", "EMPTY="}),
            (Environment{{"PATH", "/bin"}, {"EMPTY", ""}}));
  EXPECT_FALSE(apply_environment({}, process, {"NOPE"}));
  EXPECT_FALSE(apply_environment({}, process, {"=x"}));
  EXPECT_FALSE(apply_environment(process, process, {"-LD_["}));
}

struct Screen {
  std::ostringstream text;
  Io io{text, text};
};

TEST(Tables, AlignAndLeaveOutEmptyColumns) {
  Screen screen;
  Table table({{"ID", Table::Align::right}, {"GPUS"}, {"NAME"}, {"INFO"}});
  table.add({{"7"}, {""}, {"a"}, {"x"}});
  table.add({{"12"}, {""}, {"böse"}, {""}});
  EXPECT_EQ(table.render(screen.io),
            "ID  NAME  INFO\n"
            " 7  a     x\n"
            "12  böse\n");
}

TEST(Tables, ComePieceByPieceUnderOneTitle) {
  Screen screen;
  Table table({{"ID", Table::Align::right}, {"GPUS"}, {"NAME"}});
  table.add({{"7"}, {""}, {"long"}});
  EXPECT_EQ(table.render_next(screen.io, true), "ID  GPUS  NAME\n 7        long\n");
  table.add({{"8"}, {"1"}, {"a"}});
  table.add({{"123"}, {""}, {"b"}});
  EXPECT_EQ(table.render_next(screen.io, false), "  8  1     a\n123        b\n");
  Table whole({{"ID"}, {"GPUS"}});
  whole.add({{"1"}, {""}});
  EXPECT_EQ(whole.render_next(screen.io, false), "ID\n1\n");
}

TEST(JobsAsJson, AreTheSameTextPieceByPiece) {
  std::vector<msg::JobRecord> jobs(3);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].path = "/" + std::to_string(i);
  jobs[1].name = "two\nlines";
  jobs[1].pids = {1, 2};
  JsonJobs pieces;
  std::string text = pieces.next({jobs[0], jobs[1]});
  text += pieces.next({}) + pieces.next({jobs[2]}) + pieces.end();
  EXPECT_EQ(text, json_text(jobs));
  EXPECT_EQ(JsonJobs().end(), json_text(std::vector<msg::JobRecord>()));
}

TEST(Widths, AreThoseOfTheTerminal) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("b\u00f6se"), 4u);
  EXPECT_EQ(display_width("\u6a21\u62df"), 4u) << "CJK characters take two columns";
  EXPECT_EQ(display_width("\U0001F680x"), 3u) << "so does an emoji";
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a combining accent takes none";
  Screen screen;
  EXPECT_EQ(shorten(screen.io, "\u6a21\u62df\u6a21\u62df", 7), "\u6a21\u62df...");
  Table table({{"NAME"}, {"INFO"}});
  table.add({{"\u6a21\u62df"}, {"x"}});
  table.add({{"abcd"}, {"y"}});
  EXPECT_EQ(table.render(screen.io), "NAME  INFO\n\u6a21\u62df  x\nabcd  y\n");
}

TEST(Printable, LeavesNothingThatCommandsATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a?[31mb");
  EXPECT_EQ(printable("a\u009b31m"), "a?31m") << "the one-character form of ESC [";
  EXPECT_EQ(printable("a\x9b"
                      "b\xffz"),
            "a?b?z");
  EXPECT_EQ(printable("\u202eabc"), "?abc") << "turns the direction";
  EXPECT_EQ(printable("a\nb"), "a?b");
  EXPECT_EQ(printable_lines("a\nb\x1b"), "a\nb?");
  EXPECT_EQ(printable("b\u00f6se \u6a21"), "b\u00f6se \u6a21");
}

TEST(Tables, GoOnInASecondLineAndAreCutThere) {
  Screen screen;
  screen.io.width = 20;
  Table table({{"ID"}, {"INFO"}});
  table.add({{"7"}, {"a sentence that is too long for it"}});
  EXPECT_EQ(table.render(screen.io), "ID  INFO\n7   a sentence that\n    is too long f...\n");
  screen.io.unicode = true;
  EXPECT_EQ(table.render(screen.io), "ID  INFO\n7   a sentence that\n    is too long for…\n");
  screen.io.width = 40;
  EXPECT_EQ(table.render(screen.io), "ID  INFO\n7   a sentence that is too long for it\n");
}

TEST(Tables, ShowControlCharactersAsQuestionMarks) {
  Screen screen;
  Table table({{"NAME"}, {"INFO"}});
  table.add({{"a\nb\x1b[31m"}, {"\x7f\t\u00e9"}});
  EXPECT_EQ(table.render(screen.io), "NAME      INFO\na?b?[31m  ??\u00e9\n");
}

TEST(Tables, PaintOnlyWhereColourIsWanted) {
  Screen screen;
  Table table({{"STATE"}});
  table.add({{"RUN", Colour::green}});
  EXPECT_EQ(table.render(screen.io), "STATE\nRUN\n");
  screen.io.colour = true;
  EXPECT_EQ(table.render(screen.io), "\x1b[1mSTATE\x1b[0m\n\x1b[32mRUN\x1b[0m\n");
}

TEST(Times, AreReadAsPeopleWriteThem) {
  setenv("TZ", "UTC", 1);
  const Time now = 1'795'222'585'000;  // 2026-11-21 00:56:25
  const auto read = [now](const char* text) { return parse_time(text, now).value_or(-1); };
  EXPECT_EQ(read("+1h"), now + 3'600'000);
  EXPECT_EQ(read("+90s"), now + 90'000);
  EXPECT_EQ(read("00:56:30"), now + 5'000);
  EXPECT_EQ(read("00:56:25"), now + 86'400'000) << "the next one";
  EXPECT_EQ(read("01:00"), now + 215'000);
  EXPECT_EQ(read("2026-11-21T00:57"), now + 35'000);
  EXPECT_EQ(read("2026-11-21 00:56:27"), now + 2'000);
  EXPECT_EQ(read("2026-11-21"), 1'795'219'200'000) << "midnight";
  EXPECT_EQ(read("2028-02-29T00:00"), 1'835'395'200'000) << "a leap day";
  for (const char* bad : {"", "+", "+0", "soon", "25:00", "2026-11", "12:00 and more", "-1h",
                          "2027-02-30T00:00", "2027-04-31 12:00", "2026-02-30", "+99999999d"})
    EXPECT_EQ(read(bad), -1) << bad;
}

// Entries as a journal has them, and what people read of them.
TEST(GrantHistory, EveryKindOfEntryIsASentence) {
  const Time noon = 1'800'000'000'000;
  const std::string time = show_time(noon, noon);
  const auto text = [&](const std::string& path, const char* name, const char* what) {
    return text_of_grant_event(path, name, nlohmann::ordered_json::parse(what), noon);
  };
  EXPECT_EQ(text("/", "granted", R"({"units": "0-3"})"), "began with 0-3");
  EXPECT_EQ(text("/", "began", R"({"child": 3, "units": "0-1"})"), "/3 began with 0-1");
  EXPECT_EQ(text("/3", "began", R"({"child": 1, "units": "0"})"), "/3/1 began with 0");
  EXPECT_EQ(
      text("/", "offered", R"({"child": 3, "extend": {"units": "2-3", "until": 1800000000000}})"),
      "offered /3 2-3 until " + time);
  EXPECT_EQ(text("/", "settled", R"({"child": 3, "op": 1, "taken": true})"), "/3 took it");
  EXPECT_EQ(text("/", "settled", R"({"child": 3, "op": 1, "taken": false})"), "/3 refused it");
  EXPECT_EQ(text("/", "answered",
                 R"({"child": 3, "op": 1, "answer": {"is": "promise", "what": {"op": 1}}})"),
            "answered /3: later, it is not known when");
  EXPECT_EQ(
      text("/", "answered",
           R"({"child": 3, "op": 1, "answer": {"is": "promise", "what": {"at": 1800000000000}}})"),
      "answered /3: planned for " + time);
  EXPECT_EQ(text("/", "answered",
                 R"({"child": 3, "op": 1, "answer": {"is": "no", "what": {"why": "too much"}}})"),
            "answered /3: no: too much");
  EXPECT_EQ(text("/", "answered",
                 R"({"child": 3, "op": 1, "answer": {"is": "stale", "what": {"op": 1}}})"),
            "answered /3: what it gave back came too early");
  EXPECT_EQ(text("/", "recall",
                 R"({"peer": 3, "recall": {"units": "2-3", "mode": 2, "why": "work",
                     "by": 1800000000000}})"),
            "2-3 asked back from /3 by " + time + ", what runs there then is ended: work");
  EXPECT_EQ(text("/3", "recall", R"({"peer": 0, "recall": {"units": "2", "mode": 1, "why": ""}})"),
            "2 asked back")
      << "what runs there goes on";
  EXPECT_EQ(text("/3", "drain", R"({"peer": 0, "units": "2"})"), "places nothing more on 2");
  EXPECT_EQ(text("/", "drain", R"({"peer": 3, "units": "2"})"), "/3 places nothing more on 2");
  EXPECT_EQ(text("/3", "took", R"({"extend": {"units": "2"}})"), "took 2");
  EXPECT_EQ(text("/3", "declined", R"({"extend": {"units": "2"}, "why": "it ends"})"),
            "did not take 2: it ends");
  EXPECT_EQ(text("/3", "released", R"({"release": {"units": "2"}})"), "gave 2 back");
  EXPECT_EQ(text("/", "returned", R"({"child": 3, "release": {"units": "2"}})"), "/3 gave 2 back");
  EXPECT_EQ(text("/", "gone", R"({"child": 3, "units": "2"})"), "/3 has left 2");
  EXPECT_EQ(text("/", "raised", R"({"child": 3, "epoch": 4, "why": "no answer"})"),
            "/3 was fenced: no answer");
  EXPECT_EQ(text("/", "raised", R"({"child": 3, "epoch": 4, "why": "no answer", "units": "2"})"),
            "/3 was fenced, and 2 taken from it: no answer");
  EXPECT_EQ(text("/", "leased", R"({"peer": 3, "lease": {"until": 1800000000000}})"),
            "lease of /3 until " + time);
  EXPECT_EQ(text("/", "over", R"({"child": 3})"), "/3 is over");
  EXPECT_EQ(text("/3", "placed", R"({"units": "2"})"), "a job has 2");
  EXPECT_EQ(text("/3", "vacated", R"({"units": "2"})"), "no job has 2 any more");
  EXPECT_EQ(text("/3", "rolled-back", R"({"op": 3})"), "what it gave back stays");
  EXPECT_EQ(text("/3", "learned", R"({"epoch": 3})"), "it was fenced by the instance above");
  EXPECT_EQ(text("/3", "closing", "{}"), "takes nothing more");
  EXPECT_EQ(text("/3", "asked", R"({"ask": {}})"), "asked for more");
  EXPECT_EQ(text("/3", "acked", R"({"op": 3})"), "the instance above has it");
}

TEST(GrantHistory, WhatIsNotKnownIsShownAsItIs) {
  EXPECT_EQ(text_of_grant_event("/", "moved", {{"units", "1"}}, 0), R"(moved {"units":"1"})");
  EXPECT_EQ(text_of_grant_event("/", "over", {{"child", "x"}}, 0), R"(over {"child":"x"})");
}

}  // namespace
}  // namespace holon::cli
