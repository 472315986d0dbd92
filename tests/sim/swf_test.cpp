// Bad traces are reported with line and field, counted, and stop nothing unless asked to.
#include "sim/swf.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "sim/trace_file.hpp"

namespace holon::sim {
namespace {

const char* const kGood = "1 0 -1 60 2 -1 -1 2 120 -1 1 7 3 -1 1 -1 -1 -1\n";

TEST(Swf, ReadsALineAndTheHeader) {
  const auto trace = read_swf(std::string("; MaxProcs: 64\n;\n") + kGood, {});
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->workload.jobs.size(), 1u);
  const TraceJob& job = trace->workload.jobs[0];
  EXPECT_EQ(trace->workload.max_procs, 64);
  EXPECT_EQ(std::tuple(job.id, job.submit, job.procs, job.limit, job.run),
            std::tuple(1, 0, 2, 120, 60));
  EXPECT_EQ(job.user, "u7");
  EXPECT_EQ(job.group, "g3");
  EXPECT_EQ(job.queue, "q1");
  EXPECT_EQ(trace->issue_count, 0u);
}

TEST(Swf, TakesWhatWasAllocatedAndUsedWhereNothingWasAskedFor) {
  const auto trace = read_swf("1 0 5 60 4 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n", {});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->workload.jobs.at(0).procs, 4);
  EXPECT_EQ(trace->workload.jobs.at(0).limit, 60);
}

struct Bad {
  const char* line;
  const char* field;
  bool skipped;
};

TEST(Swf, NamesLineAndFieldOfWhatIsWrong) {
  const Bad bad[] = {
      {"x 0 -1 60 2 -1 -1 2 120 -1 1 1 1 -1 -1 -1 -1 -1", "job number", true},
      {"0 0 -1 60 2 -1 -1 2 120 -1 1 1 1 -1 -1 -1 -1 -1", "job number", true},
      {"1 0 -1 60 2 -1 -1 2 120 -1 1 1 1 -1 -1 -1 -1 -1", "job number", true},  // twice
      {"2 -5 -1 60 2 -1 -1 2 120 -1 1 1 1 -1 -1 -1 -1 -1", "submit time", true},
      {"2 0 -1 -1 2 -1 -1 2 120 -1 1 1 1 -1 -1 -1 -1 -1", "run time", true},
      {"2 0 -1 60 -1 -1 -1 0 120 -1 1 1 1 -1 -1 -1 -1 -1", "requested processors", true},
      {"2 0 -1 60 2 -1 -1 9 120 -1 1 1 1 -1 -1 -1 -1 -1", "requested processors",
       true},                                                                 // too large
      {"2 0 -1 60 2 -1 -1 2 30 -1 1 1 1 -1 -1 -1 -1 -1", "run time", false},  // cut
      {"2 0 -1", "run time", true},
      {"2 0 -1 60 2 -1 -1 2 1e9 -1 1 1 1 -1 -1 -1 -1 -1", "requested time", true},
      {"2 0 -1 60 2 -1 -1 2 99999999999999999999 -1", "requested time", true},
      {"\x01\x02\xff", "job number", true},
  };
  for (const Bad& b : bad) {
    SCOPED_TRACE(b.line);
    const std::string text =
        std::string(kGood) + b.line + "\n3 9 -1 60 2 -1 -1 2 120 -1 1 1 1 -1 -1 -1 -1 -1\n";
    const auto trace = read_swf(text, {.procs = 8});
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->issue_count, 1u);
    EXPECT_EQ(trace->issues[0].line, 2u);
    EXPECT_EQ(trace->issues[0].field, b.field);
    EXPECT_EQ(trace->issues[0].skipped, b.skipped);
    EXPECT_EQ(trace->skipped, b.skipped ? 1u : 0u);
    EXPECT_EQ(trace->workload.jobs.size(), b.skipped ? 2u : 3u);
    const auto strict = read_swf(text, {.strict = true, .procs = 8});
    ASSERT_FALSE(strict);
    EXPECT_EQ(strict.error().where, "line 2");
    EXPECT_NE(strict.error().what.find(b.field), std::string::npos);
  }
}

TEST(Swf, SortsWhatIsNotInOrderAndSaysSo) {
  const auto trace = read_swf("1 9 -1 6 2 -1 -1 2 12 -1 1\n2 3 -1 6 2 -1 -1 2 12 -1 1\n", {});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->issue_count, 1u);
  EXPECT_EQ(trace->workload.jobs.at(0).id, 2);
}

TEST(Swf, AnOverrunStaysIfAskedFor) {
  const auto trace = read_swf("1 0 -1 60 2 -1 -1 2 30\n", {.keep_overruns = true});
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->workload.jobs.at(0).run, 60);
}

TEST(Swf, SurvivesRubbish) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 400, ' ');
    for (char& c : bytes)
      c = random() % 3 == 0 ? static_cast<char>(random() % 256) : " 0123456789.-;\n"[random() % 15];
    const auto trace = read_swf(bytes, {});
    ASSERT_TRUE(trace);
    for (const TraceJob& job : trace->workload.jobs)
      ASSERT_TRUE(job.procs > 0 && job.run >= 0 && job.submit >= 0);
    ASSERT_TRUE(read_json_lines(bytes, {}));
  }
}

TEST(JsonLines, ReadsJobsAndNamesWhatIsWrong) {
  const auto trace = read_json_lines(
      "{\"submit\": 0, \"procs\": 2, \"run\": 5, \"limit\": 9, \"user\": \"ann\"}\n"
      "{\"id\": 7, \"submit\": 1, \"procs\": 0, \"run\": 5}\n"
      "[1]\n",
      {});
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->workload.jobs.size(), 1u);
  EXPECT_EQ(trace->workload.jobs[0].id, 1);
  EXPECT_EQ(trace->workload.jobs[0].user, "ann");
  ASSERT_EQ(trace->issues.size(), 2u);
  EXPECT_EQ(trace->issues[0].line, 2u);
  EXPECT_EQ(trace->issues[0].field, "procs");
}

TEST(JsonLines, AFieldOfAnotherKindIsNoDefault) {
  for (const auto& [field, value] :
       {std::pair{"id", "\"x\""}, {"limit", "\"long\""}, {"limit", "1e300"}, {"user", "7"}}) {
    const std::string text =
        "{\"submit\": 5, \"procs\": 1, \"run\": 5}\n{\"submit\": 5, \"procs\": 1, \"run\": 5, \"" +
        std::string(field) + "\": " + value + "}\n";
    const auto trace = read_json_lines(text, {});
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->issue_count, 1u) << text;
    EXPECT_EQ(trace->issues[0].field, field);
    EXPECT_EQ(trace->issues[0].line, 2u);
    EXPECT_EQ(trace->skipped, 1u);
    EXPECT_FALSE(read_json_lines(text, {.strict = true}));
  }
}

TEST(JsonLines, SortsWhatIsNotInOrderAndSaysSo) {
  const auto trace = read_json_lines(
      "{\"submit\": 9, \"procs\": 1, \"run\": 5}\n{\"submit\": 3, \"procs\": 1, \"run\": 5}\n", {});
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->issue_count, 1u);
  EXPECT_EQ(trace->issues[0].field, "submit");
  EXPECT_EQ(trace->workload.jobs.at(0).id, 2);
}

TEST(TraceFile, IsReadWhetherGzippedOrNot) {
  const std::string path =
      testing::TempDir() + "holon_trace_test_" + std::to_string(::getpid()) + ".gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  gzputs(file, kGood);
  gzclose(file);
  const auto trace = read_trace_file(path, {});
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->workload.jobs.size(), 1u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto cut = read_trace_file(path, {});
  EXPECT_FALSE(cut);
  std::filesystem::remove(path);
  const auto gone = read_trace_file(path, {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::not_found);
}

}  // namespace
}  // namespace holon::sim
