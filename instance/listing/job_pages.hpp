// job_pages.hpp - "jobs": records of jobs, in pages.
//
// A page is a bounded piece of work however many jobs there are. The client gets the place of the
// next page as a cursor, and nothing is kept here between two pages: a job that exists while all
// pages are asked for is in one of them; one that comes or goes meanwhile may be. Inactive jobs and
// those of instances that are gone are read from the journal, a page at a time.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/basics/clock.hpp"
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "instance/tree/records.hpp"
#include "instance/tree/waiting_for_child.hpp"
#include "msg/instance.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class JobPages {
 public:
  struct Uses {
    const Identity& identity;
    InstanceClock& clock;
    const config::Config& config;
    JobManager& jobs;
    const Journal& journal;
    Children& children;
    WaitingForChild& awaited;
    Records& records;
    SlicedWork& portions;
    AfterCommit& after_commit;
  };
  JobPages(transport::Server& server, Uses uses) : server_(server), uses_(uses) {}

  // `viewer`: a user who must not read of others' jobs; nullopt: the sender sees all.
  void list(const transport::Request& request, std::optional<std::string> viewer = {});
  // Likewise for the instance at `path`, which is gone, from the records it has left.
  void list_gone(const transport::Request& request, const std::string& path);

 private:
  bool has_kept_counts(const transport::Request& request, const msg::JobsRequest& ask);
  std::vector<msg::StateCount> kept_counts(const msg::JobsRequest& ask) const;

  transport::Server& server_;
  const Uses uses_;
  bool counts_ended_ = false;  // by users and queues, a portion at a time
};

}  // namespace holon::instance
