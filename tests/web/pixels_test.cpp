// Jobs as rows, and rows as bars: drawings, and what holds for any of them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "tests/web/jobs.hpp"
#include "web/pixels.hpp"

namespace holon::web {
namespace {

using testing::ended_job;
using testing::running_job;
using testing::waiting_job;

struct Drawn {
  std::vector<msg::JobRecord> jobs;
  std::vector<msg::Span> plan;
  std::vector<Host> hosts;
  RowsBy rows = RowsBy::nodes;
  Time now = 100;
  std::map<std::string, std::string> grants = {};

  Layout layout() const {
    LayoutInput input;
    for (const auto& job : jobs) input.jobs.push_back(&job);
    for (const auto& span : plan) input.plan.push_back(&span);
    input.hosts = hosts;
    input.rows = rows;
    input.now = now;
    input.grants = grants;
    return lay_out(input);
  }
};

// A line for each lane, a letter a tick: the first one of the subject's label; capital where it is
// planned.
std::string drawing(const Layout& layout, Time ticks) {
  std::string text;
  for (std::size_t row = 0; row < layout.rows.size(); ++row) {
    std::vector<std::string> lanes(static_cast<std::size_t>(layout.rows[row].lanes),
                                   std::string(static_cast<std::size_t>(ticks), '.'));
    for (const Piece& piece : layout.pieces) {
      if (piece.row != static_cast<std::int32_t>(row)) continue;
      char letter = layout.subjects[piece.subject].label[0];
      if (piece.kind == Kind::planned || piece.kind == Kind::reserved) letter = '=';
      if (piece.kind == Kind::waited) letter = '-';
      for (auto lane = piece.lane; lane < piece.lane + piece.lanes; ++lane)
        for (Time t = std::max<Time>(piece.begin, 0); t < std::min(piece.end, ticks); ++t)
          lanes[static_cast<std::size_t>(lane)][static_cast<std::size_t>(t)] = letter;
    }
    for (const auto& lane : lanes) text += layout.rows[row].name + " " + lane + "\n";
  }
  return text;
}

TEST(Rows, NodesHaveALaneForEachCore) {
  Drawn drawn;
  drawn.now = 9;
  drawn.hosts = {{"n1", 2, 0, "free", ""}, {"n2", 1, 0, "free", ""}};
  drawn.jobs = {ended_job(1, {1, 5}, "n1"), ended_job(2, {2, 7}, "n1"), ended_job(3, {5, 9}, "n1"),
                ended_job(4, {3, 6}, "n2")};
  EXPECT_EQ(drawing(drawn.layout(), 10),
            "n1 .11113333.\n"
            "n1 ..22222...\n"
            "n2 ...444....\n");
}

TEST(Rows, WhatRunsGoesOnToItsLimitInThePlan) {
  Drawn drawn;
  drawn.now = 5;
  drawn.hosts = {{"n1", 2, 0, "free", ""}};
  drawn.jobs = {running_job(1, 1, "n1"), running_job(2, 2, "n1")};
  drawn.jobs[0].expiration = 8;
  msg::Span span;
  span.kind = "reservation";
  span.path = "/3";
  span.name = "next";
  span.begin = 8;
  span.end = 10;
  span.cores = 1;
  span.nodelist = "n1";
  drawn.plan = {span};
  EXPECT_EQ(drawing(drawn.layout(), 10),
            "n1 .1111=====\n"
            "n1 ..222.....\n");
}

TEST(Rows, AJobOfSeveralNodesIsOnEachOfThem) {
  Drawn drawn;
  drawn.hosts = {{"n1", 2, 0, "free", ""}, {"n2", 2, 0, "free", ""}};
  drawn.jobs = {ended_job(1, {1, 4}, "n[1-2]")};
  drawn.jobs[0].ncores = 4;
  EXPECT_EQ(drawing(drawn.layout(), 4),
            "n1 .111\n"
            "n1 .111\n"
            "n2 .111\n"
            "n2 .111\n");
}

TEST(Rows, AChildIsDrawnByItsJobs) {
  Drawn drawn;
  drawn.now = 4;
  auto child = running_job(1, 1, "n1");
  child.is_instance = true;
  drawn.jobs = {child, ended_job(5, {2, 4}, "n1", "COMPLETED", "/1")};
  drawn.hosts = {{"n1", 1, 0, "free", ""}};
  EXPECT_EQ(drawing(drawn.layout(), 4), "n1 .155\n") << "within what the child has";
  drawn.rows = RowsBy::instances;
  drawn.hosts.clear();
  EXPECT_EQ(drawing(drawn.layout(), 4), "/1 ..55\n");
}

TEST(Rows, AChildHasTheLanesOfItsGrantsForAsLongAsTheyLast) {
  Drawn drawn;
  drawn.now = 9;
  auto child = running_job(1, 1, "n1");
  child.is_instance = true;
  auto wide = ended_job(5, {4, 6}, "n1", "COMPLETED", "/1");
  wide.ncores = 2;
  auto late = ended_job(7, {6, 8}, "n1", "COMPLETED", "/1");
  late.ncores = 2;  // more than the child has by then
  drawn.jobs = {child, ended_job(2, {3, 6}, "n1"), wide, late};
  drawn.hosts = {{"n1", 2, 0, "free", ""}};
  drawn.grants = {{"/2", "/1"}};
  EXPECT_EQ(drawing(drawn.layout(), 9),
            "n1 .11155771\n"
            "n1 ...255...\n");
  drawn.rows = RowsBy::instances;
  drawn.hosts.clear();
  EXPECT_EQ(drawing(drawn.layout(), 9).find('2'), std::string::npos) << "it runs nothing";
}

TEST(Rows, JobsShowTheirWait) {
  Drawn drawn;
  drawn.rows = RowsBy::jobs;
  drawn.now = 6;
  auto ran = ended_job(1, {2, 4}, "n1");
  ran.t_submit = 0;
  drawn.jobs = {ran, waiting_job(2, 3)};
  EXPECT_EQ(drawing(drawn.layout(), 8),
            "/1 --11....\n"
            "/2 ...---..\n");
}

TEST(Pixels, WhatFallsIntoOnePixelIsOneBar) {
  Drawn drawn;
  drawn.hosts = {{"n1", 1, 0, "free", ""}};
  for (std::uint64_t id = 1; id <= 100; ++id)
    drawn.jobs.push_back(ended_job(id, {static_cast<Time>(id), static_cast<Time>(id) + 1}, "n1",
                                   id == 50 ? "FAILED" : "COMPLETED"));
  const auto layout = drawn.layout();
  const auto picture = picture_of(layout, {0, 1'000, 10, 100});
  ASSERT_EQ(picture.bars.size(), 2u);  // pixels 0 and 1
  EXPECT_EQ(picture.bars[0].count + picture.bars[1].count, 100u);
  EXPECT_EQ(layout.colours[picture.bars[0].colour], "failed") << "the worst of them";
  EXPECT_EQ(layout.colours[picture.bars[1].colour], "completed");
}

TEST(Pixels, AThousandNodesShareBandsThatSayHowFullTheyAre) {
  Drawn drawn;
  for (int i = 0; i < 1'000; ++i)
    drawn.hosts.push_back({"n" + std::to_string(i), 4, 0, "free", ""});
  for (std::uint64_t id = 1; id <= 500; ++id)
    drawn.jobs.push_back(ended_job(id, {1, 100}, "n" + std::to_string(id - 1)));
  const auto picture = picture_of(drawn.layout(), {1, 100, 200, 100});
  EXPECT_EQ(picture.bands, 25);
  EXPECT_EQ(picture.lanes_a_band, 160);
  std::uint64_t count = 0;
  for (const auto& bar : picture.bars) {
    EXPECT_LT(bar.y, 13) << "the first 500 nodes";
    EXPECT_EQ(bar.level, bar.y < 12 ? 2 : 1) << "a core of four, and of the last band half of them";
    count += bar.count;
  }
  EXPECT_EQ(count, 500u);
}

// Random jobs on a few nodes.
Drawn random_jobs() {
  Drawn drawn;
  const int nodes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < nodes; ++i)
    drawn.hosts.push_back({"n" + std::to_string(i), *rc::gen::inRange(1, 9), 0, "free", ""});
  const auto n = *rc::gen::inRange<std::uint64_t>(0, 60);
  for (std::uint64_t id = 1; id <= n; ++id) {
    const Time begin = *rc::gen::inRange<Time>(1, 500);
    auto job =
        ended_job(id, {begin, begin + *rc::gen::inRange<Time>(0, 200)},
                  "n" + std::to_string(*rc::gen::inRange(0, nodes)),
                  *rc::gen::element<std::string>("COMPLETED", "FAILED", "TIMEOUT", "CANCELED"));
    job.ncores = *rc::gen::inRange(1, 5);
    drawn.jobs.push_back(job);
  }
  return drawn;
}

Window random_window() {
  const Time from = *rc::gen::inRange<Time>(0, 600);
  return {from, from + *rc::gen::inRange<Time>(1, 800), *rc::gen::inRange(1, 300),
          *rc::gen::inRange(4, 200)};
}

RC_GTEST_PROP(Pixels, EveryPieceInTheWindowIsCountedOnce, ()) {
  const auto layout = random_jobs().layout();
  const auto window = random_window();
  std::uint64_t pieces = 0;
  for (const auto& piece : layout.pieces)
    pieces += piece.begin < window.to && std::max(piece.end, piece.begin + 1) > window.from;
  std::uint64_t counted = 0;
  for (const auto& bar : picture_of(layout, window).bars) counted += bar.count;
  RC_ASSERT(counted == pieces);
}

RC_GTEST_PROP(Pixels, BarsOfALaneDoNotOverlapAndLieInTheWindow, ()) {
  const auto layout = random_jobs().layout();
  const auto window = random_window();
  const auto picture = picture_of(layout, window);
  std::map<std::tuple<std::int32_t, std::int32_t, Kind>, std::int32_t> ends;
  for (const auto& bar : picture.bars) {
    RC_ASSERT(bar.x0 >= 0 && bar.x0 < bar.x1);
    RC_ASSERT(bar.x1 <= window.width);
    RC_ASSERT(bar.y >= 0 && bar.y + bar.lanes <= picture.bands);
    RC_ASSERT(bar.level >= 1 && bar.level <= 8);
    auto& end = ends[{bar.y, bar.lanes, bar.kind}];
    RC_ASSERT(bar.x0 >= end);
    end = bar.x1;
  }
}

RC_GTEST_PROP(Pixels, TheOrderInWhichJobsComeChangesNothing, ()) {
  auto drawn = random_jobs();
  const auto window = random_window();
  const auto before = picture_of(drawn.layout(), window);
  std::reverse(drawn.jobs.begin(), drawn.jobs.end());
  const auto layout = drawn.layout();
  auto after = picture_of(layout, window);
  RC_ASSERT(before.bars.size() == after.bars.size());
  for (std::size_t i = 0; i < before.bars.size(); ++i) {
    after.bars[i].subject = before.bars[i].subject;  // their numbers follow the order
    RC_ASSERT(before.bars[i] == after.bars[i]);
  }
}

RC_GTEST_PROP(Pixels, NoCoreOfANodeHasTwoJobsAtOnce, ()) {
  auto drawn = random_jobs();
  for (auto& host : drawn.hosts) host.cores = 256;  // enough for all of them
  const auto layout = drawn.layout();
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Interval>> taken;
  for (const auto& piece : layout.pieces)
    for (auto lane = piece.lane; lane < piece.lane + piece.lanes; ++lane)
      taken[{piece.row, lane}].push_back({piece.begin, piece.end});
  for (auto& [lane, times] : taken) {
    std::sort(times.begin(), times.end(), [](auto a, auto b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < times.size(); ++i) RC_ASSERT(times[i - 1].end <= times[i].begin);
  }
}

RC_GTEST_PROP(Curves, AddUpToTheCoreTimeInTheWindow, ()) {
  const auto drawn = random_jobs();
  const auto window = random_window();
  std::vector<const msg::JobRecord*> jobs;
  for (const auto& job : drawn.jobs) jobs.push_back(&job);
  const std::size_t parts = *rc::gen::inRange<std::size_t>(1, 50);
  const auto curves = curves_of(jobs, window, parts, 1'000);
  double wanted = 0, got = 0;
  for (const auto& job : drawn.jobs)
    wanted += static_cast<double>(job.ncores) *
              static_cast<double>(
                  distance(std::max(job.t_start, window.from), std::min(job.t_finish, window.to)));
  for (const double busy : curves.busy)
    got += busy * static_cast<double>(window.span()) / static_cast<double>(parts);
  RC_ASSERT(std::abs(wanted - got) < 1e-6 * (1 + wanted));
}

}  // namespace
}  // namespace holon::web
