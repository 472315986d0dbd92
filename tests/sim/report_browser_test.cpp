// The report page in a real browser: that it draws, fits a narrow window, zooms and prints.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "qmanager/machine/flat_machine.hpp"
#include "sim/report.hpp"
#include "sim/study.hpp"

namespace holon::sim {
namespace {

constexpr std::int64_t kProcs = 256;

// So many jobs on a machine that is too small for them at times, under three policies.
std::string page_of(int jobs, const std::vector<ReportInput::Ended>& ends = {}) {
  std::mt19937 random(7);
  Workload workload;
  Time now = 0;
  for (int id = 1; id <= jobs; ++id) {
    TraceJob job;
    job.id = id;
    job.submit = now += static_cast<Time>(random() % 120);
    job.run = 1 + static_cast<Duration>(random() % 7'200);
    job.limit = job.run * 2;
    job.procs = 1 + static_cast<std::int64_t>(random() % 8 == 0 ? random() % 128 : random() % 4);
    job.user = "user" + std::to_string(random() % 9);
    workload.jobs.push_back(job);
  }
  StudyPlan plan;
  plan.policies = {"fcfs", "easy", "conservative"};
  plan.procs = kProcs;
  plan.machine = []() -> Result<std::unique_ptr<qmanager::Machine>> {
    return std::make_unique<qmanager::FlatMachine>(kProcs);
  };
  const auto runs = run_study(workload, plan).value();
  return html_report(
      {"many jobs", {{"machine", "256 processors"}}, workload, runs, kProcs, ends, ""});
}

// A page in a folder of its own, which a browser opens.
class Browser {
 public:
  explicit Browser(const std::string& page) : page_(page) {
    std::string name = ::testing::TempDir() + "holon-report-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Browser() { std::filesystem::remove_all(folder_); }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // The page as it stands after its own scripts and `script`, in a window of such a width.
  std::string shown(int width, const std::string& script) const {
    const auto end = page_.rfind("</body>");
    std::ofstream(folder_ / "page.html")
        << page_.substr(0, end) << "<script>" << script << "</script>" << page_.substr(end);
    return output("--dump-dom --window-size=" + std::to_string(width) + ",900");
  }
  // How many pages it has on paper, counted in the PDF that the browser makes.
  int sheets() const {
    std::ofstream(folder_ / "page.html") << page_;
    output("--no-pdf-header-footer --print-to-pdf=" + (folder_ / "page.pdf").string());
    std::ifstream file(folder_ / "page.pdf", std::ios::binary);
    const std::string pdf{std::istreambuf_iterator<char>(file), {}};
    int pages = 0;
    for (std::size_t at = 0; (at = pdf.find("/Type /Page\n", at)) != std::string::npos; ++at)
      ++pages;
    return pages;
  }

 private:
  std::string output(const std::string& options) const {
    const std::string command = "HOME=" + folder_.string() +
                                " chromium --headless --no-sandbox --disable-gpu "
                                "--virtual-time-budget=20000 " +
                                options + " file://" + (folder_ / "page.html").string() +
                                " 2> /dev/null";
    std::string text;
    FILE* out = popen(command.c_str(), "r");
    if (out == nullptr) return text;
    char piece[4096];
    for (std::size_t n = 0; (n = fread(piece, 1, sizeof piece, out)) > 0;) text.append(piece, n);
    pclose(out);
    return text;
  }
  std::string page_;
  std::filesystem::path folder_;
};

bool says(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

class ReportInABrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium > /dev/null") != 0) GTEST_SKIP() << "there is no chromium";
  }
};

// A script that fails on its way has not told how many pictures there are.
TEST_F(ReportInABrowser, DrawsAPictureOfEachKind) {
  const std::string shown = Browser(page_of(300)).shown(1280, "");
  EXPECT_TRUE(says(shown, "data-drawn=\"8\""))
      << "processors and machine for each policy, queue, waits: " << shown.size() << " bytes";
  EXPECT_TRUE(says(shown, "<canvas")) << "uPlot drew";
}

TEST_F(ReportInABrowser, ColoursJobsOfALiveInstanceByTheirResult) {
  using Ended = ReportInput::Ended;
  std::vector<Ended> ends(300, Ended::completed);
  ends[7] = Ended::failed;
  const std::string shown = Browser(page_of(300, ends)).shown(1280, R"(
    const picture = [...document.querySelectorAll('figure')].pop(), canvas = picture.querySelector('canvas');
    const result = [...picture.querySelectorAll('label')].find(label => label.textContent.trim() === 'result');
    result.querySelector('input').click();
    setTimeout(() => document.documentElement.dataset.keys =
      [...picture.querySelectorAll('.key')].map(key => key.textContent).join(), 500);
  )");
  EXPECT_TRUE(says(shown, "data-keys=\"completed,failed,cancelled,time limit,runs\""));
}

TEST_F(ReportInABrowser, FitsANarrowWindowWithAllItsNumbers) {
  const std::string shown = Browser(page_of(300)).shown(600, R"(
    const root = document.documentElement, rows = [...document.querySelectorAll('table.upright tr')];
    root.dataset.excess = root.scrollWidth - root.clientWidth;
    root.dataset.lines = rows.filter(row => row.offsetHeight > 0 && row.getBoundingClientRect().right <= innerWidth).length;
    root.dataset.last = rows[rows.length - 1].textContent;
  )");
  EXPECT_TRUE(says(shown, "data-excess=\"0\"")) << "nothing is scrolled sideways";
  EXPECT_TRUE(says(shown, "data-lines=\"14\"")) << "the policies, and thirteen numbers of each";
  EXPECT_TRUE(says(shown, "data-last=\"overtaking")) << "the last column of the wide table";
}

TEST_F(ReportInABrowser, AWideWindowHasTheTableAcross) {
  const std::string shown = Browser(page_of(300)).shown(1280, R"(
    document.documentElement.dataset.tables =
      [...document.querySelectorAll('table.numbers')].map(table => table.offsetHeight > 0).join();
  )");
  EXPECT_TRUE(says(shown, "data-tables=\"true,false\""));
}

// A drag over the picture of the machine shows a part of it, and a double click all again.
TEST_F(ReportInABrowser, ZoomsInto30000Jobs) {
  const std::string shown = Browser(page_of(30'000)).shown(1280, R"(
    const picture = [...document.querySelectorAll('figure')].pop(), canvas = picture.querySelector('canvas');
    const over = picture.querySelector('.u-over'), box = over.getBoundingClientRect();
    const mouse = (type, x, y, node = over) => node.dispatchEvent(new MouseEvent(type,
      { bubbles: true, cancelable: true, view: window, button: 0, movementX: 1, clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
    const settled = () => new Promise(done => setTimeout(done, 500));
    (async () => {
      await settled();
      const all = canvas.toDataURL();
      for (const [type, x, y] of [['mouseenter', .3, .3], ['mousemove', .3, .3], ['mousedown', .3, .3], ['mousemove', .4, .6], ['mouseup', .4, .6]]) {
        mouse(type, x, y, type === 'mouseup' ? document : over);
        await settled();
      }
      const part = canvas.toDataURL();
      mouse('dblclick', .4, .4);
      await settled();
      document.documentElement.dataset.zoom = [part !== all, canvas.toDataURL() === all].join();
    })();
  )");
  EXPECT_TRUE(says(shown, "data-zoom=\"true,true\""))
      << "a part differs from the whole, which comes back";
}

TEST_F(ReportInABrowser, PrintsOnAFewSheets) {
  const int sheets = Browser(page_of(300)).sheets();
  EXPECT_GE(sheets, 2);
  EXPECT_LE(sheets, 8) << "eight pictures, one a sheet at most";
}

}  // namespace
}  // namespace holon::sim
