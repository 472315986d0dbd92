// job_pages.hpp - "jobs": records of jobs, in pages.
//
// A page is a bounded piece of work however many jobs there are. Where the next one begins is told
// to the client as a cursor, and nothing is kept here between two pages: a job that is there while
// all pages are asked for is in one of them; one that comes or goes meanwhile may be. Inactive jobs
// and those of instances that are gone are read from the journal, a page at a time.
#pragma once
#include <string>

#include "instance/core.hpp"
#include "transport/rpc.hpp"

namespace holon::instance {

class JobPages {
 public:
  JobPages(transport::Server& server, Core& core) : server_(server), core_(core) {}

  void list(const transport::Request& request);
  // The same for the instance at `path`, which is gone, from the records it has left.
  void list_gone(const transport::Request& request, const std::string& path);

 private:
  transport::Server& server_;
  Core& core_;
};

}  // namespace holon::instance
