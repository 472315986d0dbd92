// gather.hpp - what the page about an instance is made of: its jobs and those below it, from the
// instance that runs, or from the state directory of a root that has ended.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "client/client.hpp"
#include "instance/registry/ran.hpp"
#include "msg/instance.hpp"
#include "web/model.hpp"

namespace holon::cli {

// What the page shows, and what is known of the instance beside its jobs.
struct Shown {
  std::vector<msg::JobRecord> jobs;
  Result<msg::TreeNode> node = fail(Errc::not_found, "it has ended");
  instance::PastMachine machine;
  std::vector<web::Host> hosts;
  std::string depths, state_dir;
  std::vector<std::string> damage;                // of the journal that the jobs were read from
  std::map<std::string, std::string> last_lines;  // that failed jobs wrote, by path

  // Now, or the end of the last job of an ended instance.
  Time as_of() const;
};

// The jobs that the filter lets through, with the tasks of arrays behind them: all tasks of an
// array, or none, where there are more than anybody could see, or where nobody knows them any more.
// Errors: those of Client::jobs().
Result<Shown> ask_instance(client::Client& client, const msg::JobFilter& filter);
// Likewise, of a root that has ended. Errors: invalid_argument, not_found (there is no journal),
// busy (its instance runs).
Result<Shown> read_ended_instance(const std::string& state_dir, const msg::JobFilter& filter);

}  // namespace holon::cli
