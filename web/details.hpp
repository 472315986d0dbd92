// details.hpp - all about one job, as its panel shows it: the record, its life, why it waits, the
// end of what it wrote.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/observer.hpp"
#include "web/model.hpp"

namespace holon::web {

// The end of a file, at most `most` bytes. Only of a regular file that belongs to whoever runs
// this: somebody else's job may name any file. Errors: not_found, denied.
Result<std::string> tail_of(const std::string& file, std::size_t most);

class Details {
 public:
  // REQUIRES: both outlive it.
  Details(client::Observer& observer, Model& model) : observer_(observer), model_(model) {}

  using OnAnswer = std::function<void(Result<std::string>)>;

  // Answers with JSON. For all who look at the same job its instance is asked once, again when the
  // job has changed, and some seconds later. Errors: not_found.
  void of_job(const std::string& path, OnAnswer on_answer);
  // The last line that a job which is over wrote, of its errors if there are any; remembered. What
  // is not in a file of one's own (small outputs of arrays are in the instance's log) is asked for,
  // a few jobs at a time: until then "", and the model's version tells that lines have come.
  std::string last_line(const msg::JobRecord& job);

 private:
  struct Gathered;
  // What is known of a job, or asked for.
  struct Known {
    std::string record;  // packed, when its instance was asked
    Time asked = 0;
    std::string answer;
    bool is_open = false;           // the answer is on its way
    std::vector<OnAnswer> waiting;  // for this answer
    std::vector<OnAnswer> later;    // for the next one: the job has changed since
  };
  void ask_for(const std::string& path, Known& known);
  void told(const std::string& path, const std::string& answer);
  void ask_why(const std::shared_ptr<Gathered>& gathered);
  void ask_output(const std::shared_ptr<Gathered>& gathered);
  void finish(Gathered& gathered);
  void ask_for_lines();
  void collect_line(const std::string& path);

  client::Observer& observer_;
  Model& model_;
  std::map<std::string, std::string> last_lines_;  // by path
  std::deque<std::string> lines_wanted_;           // of these jobs, which are still to be asked for
  std::size_t lines_open_ = 0;                     // that are being asked for
  std::map<std::string, Known> known_;             // by path
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false: answers are too late
};

}  // namespace holon::web
