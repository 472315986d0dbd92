// feed.hpp - keeps a model up to date with an instance: its stream of events, and what no event
// tells, asked for now and then for as long as somebody looks: plans, resources, tasks of arrays.
// What it costs the broker does not depend on how many look.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "client/observer.hpp"
#include "web/model.hpp"

namespace holon::web {

// Milliseconds since the Unix epoch.
Time wall_clock();

class Feed {
 public:
  // `on_end` is called once when the instance has ended, or is lost. REQUIRES: `observer` and
  // `model` outlive the feed.
  Feed(client::Observer& observer, Model& model, std::function<void(const Status&)> on_end);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Somebody looks at the instance at `path`: for the next seconds all about it is asked for.
  void look_at(const std::string& path);
  // The same again as soon as may be: something was changed.
  void hurry();

 private:
  // One thing that is asked for again and again.
  struct Poll {
    bool under_way = false;
    Time next = 0;
    std::uint64_t seen = 0;  // the version of the model at the last time
  };
  struct Looked {
    Time last = 0;
    Poll plan, resources, grants, reasons;
    std::uint64_t moved = 0;  // as the instance was when its grants were last asked for
  };
  // The tasks of all arrays of an instance.
  struct Tasks {
    Poll poll;
    Time since = 0;            // what changed before is known; 0: nothing is
    std::size_t settled = 0;   // arrays of which all is known, as they are over
    std::size_t settling = 0;  // will be so with the answer
  };

  void turn();
  void ask_plan(const std::string& path, Poll& poll);
  void ask_resources(const std::string& path, Poll& poll);
  void ask_grants(const std::string& path, Poll& poll);
  void ask_reasons(const std::string& path, Poll& poll);
  void ask_tasks(const std::string& path, Tasks& tasks);
  void ask_page(const std::string& path, msg::JobsRequest request, Time began);
  bool is_due(const Poll& poll) const;
  void begin(Poll& poll) const;
  void end(Poll& poll, Time began, Duration least) const;

  client::Observer& observer_;
  Model& model_;
  std::map<std::string, Looked> looked_;
  std::map<std::string, Tasks> tasks_;
  transport::Subscription turns_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false: answers are too late
};

}  // namespace holon::web
