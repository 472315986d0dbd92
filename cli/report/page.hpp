// page.hpp - the page in one file: the live page (web/page), with records in place of a server. It
// asks no other host for anything.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "msg/instance.hpp"
#include "sim/study.hpp"
#include "web/rows.hpp"

namespace holon::cli {

// Lanes of a row that a job has or had.
struct ReportPlace {
  std::int32_t row = 0, lane = 0, lanes = 1;
};

// A run of a job whose work was lost, as another job took its place.
struct ReportLost {
  std::size_t job = 0;  // of ReportPart::jobs
  Time begin = 0, end = 0;
  std::vector<ReportPlace> places;
};

// What each instance of a tree holds over time, of what it owns, and of what others lent it.
struct ReportGrants {
  struct Piece {
    ReportPlace at;
    Time begin = 0, end = 0;  // by the clock of the records, ms
    std::uint8_t colour = 0;  // of `colours`
    std::string label;
  };
  std::vector<web::Row> rows;
  std::vector<Piece> pieces;
  std::vector<std::string> colours;
};

// An instance, or a policy of a study.
struct ReportPart {
  msg::TreeNode node;  // path ("/1"), name, cores
  std::vector<msg::JobRecord> jobs;
  std::vector<web::Host> hosts;
  // Where the jobs ran, by job. Both empty: on the nodes that the records name.
  std::vector<web::Row> rows;
  std::vector<std::vector<ReportPlace>> places;
  std::vector<ReportLost> lost;
  std::optional<ReportGrants> grants;
};

struct ReportHead {
  std::string title;
  std::string verdict;           // a sentence: what to take from it; "": nothing
  std::vector<std::string> won;  // the names of the figures that are marked
  // The facts beside the answers: {"trace", "kth.swf"}, {"machine", "100 processors"}.
  std::vector<std::pair<std::string, std::string>> facts;
  std::string note;               // behind the figures
  Time now = 0;                   // of the records, ms
  bool elapsed = false;           // times count from the first submission: there is no clock
  std::string colour = "result";  // by which the page colours jobs first
  std::string best = "/";         // the path of the part that is shown first
  std::map<std::string, std::string> last_lines;  // that failed jobs wrote, by path
};

// Gathers the parts, one after the other, so that their records need not be there at once.
class ReportPage {
 public:
  explicit ReportPage(ReportHead head) : head_(std::move(head)) {}

  // `figures`: the line of the table about it. O(jobs log jobs).
  void add(const ReportPart& part, const sim::PolicyRun& figures);
  // A line of the table without a picture.
  void add_figures(const sim::PolicyRun& figures);

  // The page. The same input gives the same bytes. Errors: unsupported (this holon was built
  // without the page).
  Result<std::string> html() const;

 private:
  std::size_t text(const std::string& words);
  std::string row_of(const msg::JobRecord& job, Time first);

  ReportHead head_;
  std::vector<std::string> texts_ = {""};
  std::unordered_map<std::string, std::size_t> numbers_ = {{"", 0}};
  std::string parts_, figures_;  // JSON
  std::string plain_rows_;       // HTML
};

}  // namespace holon::cli
