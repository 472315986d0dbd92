// The figures for a monitoring system, read by the parser of Prometheus' own Python client.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/instance/live.hpp"
#include "tests/web/jobs.hpp"
#include "web/answers.hpp"

namespace holon::web {
namespace {

using testing::ended_job;
using testing::part_with;
using testing::waiting_job;

// Debian's Python: its packages are not those of another one that stands before it in PATH.
constexpr const char* kParse =
    "/usr/bin/python3 -c '\n"
    "import json, sys\n"
    "from prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n"
    "families = list(read(open(sys.argv[1]).read()))\n"
    "print(json.dumps({f.name: [f.type, f.documentation, [[s.labels, s.value] for s in f.samples]]"
    " for f in families}))' ";

nlohmann::json parsed_by_prometheus(const std::string& text) {
  std::string name = ::testing::TempDir() + "holon-metrics-XXXXXX";
  const int fd = mkstemp(name.data());
  EXPECT_GE(fd, 0);
  close(fd);
  std::ofstream(name) << text;
  std::string said;
  FILE* out = popen((kParse + name + " 2>&1").c_str(), "r");
  char line[4096];
  while (out != nullptr && fgets(line, sizeof line, out) != nullptr) said += line;
  if (out != nullptr) pclose(out);
  std::filesystem::remove(name);
  const auto families = nlohmann::json::parse(said, nullptr, false);
  EXPECT_TRUE(families.is_object()) << said << "\n" << text;
  return families;
}

class OpenMetrics : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("/usr/bin/python3 -c 'import prometheus_client' 2> /dev/null") != 0)
      GTEST_SKIP() << "there is no python3-prometheus-client";
  }
};

TEST_F(OpenMetrics, AreOpenMetricsWithALineAnInstance) {
  Model model;
  auto root = part_with({waiting_job(1, 1'000), ended_job(2, {1'000, 2'000}, "n1", "FAILED")});
  root.node[0].pending = 1;
  root.node[0].inactive = root.node[0].failed = 1;
  model.take("/", root, 5'000);
  model.take("/3", part_with({}), 5'000);
  const auto families = parsed_by_prometheus(metrics_text(model, 7));
  for (const char* name : {"slurm_jobs_pending", "slurm_jobs_failed", "holon_cores", "holon_up",
                           "holon_oldest_wait_start_seconds"}) {
    ASSERT_TRUE(families.contains(name)) << name;
    EXPECT_EQ(families[name][0], "gauge");
    EXPECT_NE(families[name][1], "") << "a word about " << name;
    EXPECT_EQ(families[name][2].size(), 2u) << "two instances";
  }
  EXPECT_EQ(families["slurm_jobs_failed"][2][0].dump(), "[{\"instance\":\"/\"},1]");
  EXPECT_EQ(families["holon_cores"][2][1].dump(), "[{\"instance\":\"/3\"},8]");
}

// The parser finds fault with what is none.
TEST_F(OpenMetrics, WouldNotBeTakenWithoutTheirEnd) {
  Model model;
  model.take("/", part_with({}), 5'000);
  std::string text = metrics_text(model, 7);
  text.resize(text.size() - std::string("# EOF\n").size());
  std::ofstream(::testing::TempDir() + "holon-no-end") << text;
  EXPECT_NE(std::system((kParse + ::testing::TempDir() + "holon-no-end > /dev/null 2>&1").c_str()),
            0);
}

}  // namespace
}  // namespace holon::web
