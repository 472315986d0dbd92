// The words of the page's filter: one table for the server, which reads them in C++, and for the
// page in one file, whose scripts do.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/report/page.hpp"
#include "tests/web/browser/checks.hpp"
#include "web/listing.hpp"
#include "web/page_files.hpp"

namespace holon::cli {
namespace {

msg::JobRecord filtered_job(std::uint64_t id, const std::string& name, const std::string& state,
                            const std::string& result = "") {
  msg::JobRecord job;
  job.id = id;
  job.path = "/3/" + std::to_string(id);
  job.name = name;
  job.user = id % 2 == 0 ? "bob" : "ann";
  job.queue = id < 5 ? "short" : "long";
  job.state = state;
  job.result = result;
  job.ncores = 1;
  job.t_submit = 1'000;
  const bool ran = state == "RUN" || state == "CLEANUP" || (state == "INACTIVE" && id < 6);
  if (ran) {
    job.t_alloc = job.t_start = 2'000;
    job.nodelist = id % 2 == 0 ? "n2" : "n[1,3]";
  }
  if (state == "INACTIVE") job.t_inactive = 9'000;
  if (state == "INACTIVE" && ran) job.t_finish = 9'000, job.exit_code = result == "FAILED" ? 3 : 0;
  return job;
}

std::vector<msg::JobRecord> filtered_jobs() {
  std::vector<msg::JobRecord> jobs = {
      filtered_job(1, "train", "INACTIVE", "COMPLETED"),
      filtered_job(2, "trace-7", "INACTIVE", "FAILED"),
      filtered_job(3, "false", "INACTIVE", "CANCELED"),
      filtered_job(4, "falsf", "INACTIVE", "TIMEOUT"),
      filtered_job(5, "a.b", "INACTIVE", "COMPLETED"),
      filtered_job(6, "never", "INACTIVE", "REJECTED"),
      filtered_job(7, "gone", "INACTIVE", "CANCELED"),
      filtered_job(8, "runs", "RUN"),
      filtered_job(9, "stopped", "RUN"),
      filtered_job(10, "ends", "CLEANUP"),
      filtered_job(11, "new", "NEW"),
      filtered_job(12, "behind", "DEPEND"),
      filtered_job(13, "held", "PRIORITY"),
      filtered_job(14, "waits", "SCHED"),
      filtered_job(21, "swept", "RUN"),
  };
  jobs[5].reason = "it needs 9 nodes";
  jobs[8].t_suspended = 3'000;
  jobs[13].command = "./model --all";
  jobs[14].array = 20;
  jobs[14].index = 1;
  jobs[14].entry = "west";
  return jobs;
}

// The jobs that a filter shows; nullopt: it cannot be read.
struct FilterCase {
  std::string words;
  std::optional<std::set<std::uint64_t>> shown;
};
const std::set<std::uint64_t> kAllFiltered = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 21};

std::vector<FilterCase> filter_cases() {
  return {
      {"", kAllFiltered},
      {"completed", {{1, 5}}},
      {"FAILED", {{2}}},
      {"completed failed", {{1, 2, 5}}},
      {"completed,failed timeout", {{1, 2, 4, 5}}},
      {"failed,", {{2}}},
      {"failed,nothing", std::set<std::uint64_t>()},
      {"canceled", {{3, 7}}},
      {"cancelled", std::set<std::uint64_t>()},
      {"rejected", {{6}}},
      {"inactive", {{1, 2, 3, 4, 5, 6, 7}}},
      {"running", {{8, 9, 10, 21}}},
      {"run", {{8, 9, 21}}},
      {"cleanup", {{10}}},
      {"suspended", {{9}}},
      {"pending", {{11, 12, 13, 14}}},
      {"new", {{11}}},
      {"depend", {{12}}},
      {"priority", {{13}}},
      {"sched", {{14}}},
      {"user:ann failed,completed", {{1, 5}}},
      {"user:bob user:ann completed", {{1, 5}}},
      {"user:", kAllFiltered},
      {"queue:short", {{1, 2, 3, 4}}},
      {"node:n1", {{1, 3, 5, 9, 21}}},
      {"node:n2 failed", {{2}}},
      {"node:n9", std::set<std::uint64_t>()},
      {"name:tra*", {{1, 2}}},
      {"name:fals?", {{3, 4}}},
      {"name:fals[e]", {{3}}},
      {"name:fals[!e]", {{4}}},
      {"name:fals[a-e]", {{3}}},
      {"name:trace-[[:digit:]]", {{2}}},
      {"name:a.b", {{5}}},
      {"name:a?b", {{5}}},
      {"name:a\\.b", {{5}}},
      {"name:a\\*b", std::set<std::uint64_t>()},
      {"name:*", kAllFiltered},
      {"name:trai", std::set<std::uint64_t>()},
      {"name:[", std::nullopt},
      {"name:[]", std::nullopt},
      {"name:x\\", std::nullopt},
      {"exit:3", {{2}}},
      {"exit:0", {{1, 3, 4, 5}}},
      {"exit:", std::nullopt},
      {"exit:-1", std::nullopt},
      {"exit:1x", std::nullopt},
      {"model", {{14}}},
      {"nodes", {{6}}},
      {"west", {{21}}},
      {"/3/7", {{7}}},
      {"/3/20.1", {{21}}},
      {"/3/21", std::set<std::uint64_t>()},
      {"20.1", {{21}}},
      {"fals model", std::set<std::uint64_t>()},
      {"constructor", std::set<std::uint64_t>()},
  };
}

TEST(FilterWords, OfTheServer) {
  const auto jobs = filtered_jobs();
  for (const auto& [words, shown] : filter_cases()) {
    const auto filter = web::read_filter(words);
    ASSERT_EQ(filter.has_value(), shown.has_value()) << words;
    if (!filter) continue;
    std::set<std::uint64_t> found;
    for (const auto& job : jobs)
      if (filter->matches(job)) found.insert(job.id);
    EXPECT_EQ(found, *shown) << words;
  }
}

TEST(FilterWords, OfThePageInAFile) {
  if (web::page_file(web::kReportScript) == nullptr)
    GTEST_SKIP() << "there is no page in this build: npm or esbuild was missing";
  if (!web::testing::has_browser())
    GTEST_SKIP() << "there is no chromium, or npm could not fetch what drives it";
  ReportHead head;
  head.now = 10'000;
  head.best = "/3";
  ReportPage page(head);
  ReportPart part;
  part.node.path = "/3";
  part.jobs = filtered_jobs();
  page.add(part, {});
  std::string dir = ::testing::TempDir() + "holon-words-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  std::ofstream(dir + "/page.html") << page.html().value();
  auto cases = nlohmann::json::array();
  for (const auto& [words, shown] : filter_cases()) {
    auto labels = nlohmann::json::array();
    for (const auto& job : part.jobs)
      if (shown && shown->contains(job.id)) labels.push_back(msg::label_of(job));
    cases.push_back({{"words", words}, {"shown", shown ? labels : nlohmann::json()}});
  }
  std::ofstream(dir + "/cases.json") << cases.dump();
  EXPECT_EQ(web::testing::run_checks("words.mjs", dir, {dir + "/page.html", dir + "/cases.json"}),
            static_cast<int>(cases.size()));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace holon::cli
