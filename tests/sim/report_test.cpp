// The report page: what is in it. Whether it draws is asked of a browser (report_browser_test.cpp).
#include <gtest/gtest.h>

#include "sim/report.hpp"
#include "sim/series.hpp"

namespace holon::sim {
namespace {

// Three jobs of a live instance, in ms: one that was waited for, one that failed, one that runs.
struct LiveExample {
  LiveExample() {
    const auto add = [this](std::int64_t id, Time submit, Time start, Duration run,
                            const char* user) {
      TraceJob job;
      job.id = id;
      job.submit = submit;
      job.run = run;
      job.procs = 2;
      job.user = user;
      workload.jobs.push_back(job);
      JobOutcome outcome;
      outcome.submitted = submit;
      outcome.start = start;
      run_.result.jobs.push_back(outcome);
    };
    add(1, 1'000, 1'250, 4'000, "ann");
    add(2, 1'500, 5'250, 20'000, "bob");
    add(3, 2'000, 25'250, 500, "ann");
    run_.name = "easy";
    run_.result.first_submit = 1'000;
    run_.result.end = 25'750;
    workload.ticks_per_second = 1'000;
    run_.metrics = measure(workload, run_.result, 2);
    runs.push_back(run_);
  }
  std::string page() const {
    using Ended = ReportInput::Ended;
    return html_report({"holon /",
                        {{"policy", "easy"}},
                        workload,
                        runs,
                        2,
                        {Ended::completed, Ended::failed, Ended::runs},
                        "a note"});
  }
  Workload workload;
  PolicyRun run_;
  std::vector<PolicyRun> runs;
};

bool holds(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

TEST(Report, OfALiveInstanceIsInSeconds) {
  const std::string page = LiveExample().page();
  EXPECT_TRUE(
      holds(page, R"("gantt":[[1,0.25,4.25,0,2,0,0.25,0,0],[2,4.25,24.25,0,2,0,3.75,1,1])"));
  EXPECT_TRUE(holds(page, R"("users":["ann","bob"])"));
  EXPECT_TRUE(holds(page, R"("length":24.75)"));
  EXPECT_TRUE(holds(page, "<td title=\"3.8 s\">4 s</td>")) << "the median wait";
  EXPECT_TRUE(holds(page, "a note"));
}

TEST(Report, AJobThatStillWaitsIsInTheQueueUntilTheEnd) {
  LiveExample example;
  TraceJob waits;
  waits.submit = 1'000;
  example.workload.jobs.push_back(waits);
  SimResult result = example.runs.front().result;
  JobOutcome outcome;
  outcome.submitted = 1'000;
  result.jobs.push_back(outcome);
  const Series curves = series(example.workload, result, 1);
  const double waited = 250 + 3'750 + 23'250 + 24'750;
  EXPECT_NEAR(curves.queued.front(), waited / 24'750, 1e-9);
}

}  // namespace
}  // namespace holon::sim
