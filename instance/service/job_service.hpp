// job_service.hpp - the requests that submit jobs, look at one, and end them (msg/instance.hpp).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "instance/basics/clock.hpp"
#include "instance/basics/shared_bytes.hpp"
#include "instance/basics/sliced_work.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/users/audit.hpp"
#include "msg/instance.hpp"
#include "resource/store.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class JobService {
 public:
  struct Uses {
    InstanceClock& clock;
    const resource::ResourceStore& store;
    JobManager& jobs;
    const Journal& journal;
    Audit& audit;
    SlicedWork& portions;
    AfterCommit& after_commit;
  };
  struct Hooks {
    std::function<bool()> ending;  // the instance is ending, and takes no more jobs
    // The only user whose jobs the sender may see; nullopt: all users.
    std::function<std::optional<std::string>(const transport::Request&)> viewer;
    std::function<void(JobId)> instance_submitted;
  };
  JobService(transport::Reactor& reactor, Uses uses, Hooks hooks)
      : reactor_(reactor), uses_(uses), hooks_(std::move(hooks)) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  using Request = transport::Request;
  using Ids = std::vector<std::uint64_t>;
  void submit(const Request& request);
  void submit_graph(const Request& request);
  struct TakingGraph;
  bool take_some(TakingGraph& graph);
  void extend(const Request& request);
  void info(const Request& request);
  void cancel(const Request& request);
  void cancel_numbers(const Request& request, const msg::CancelRequest& ask);
  struct Cancelling;
  bool cancel_some(Cancelling& all);
  void cancel_some_held(Cancelling& all);
  Ids all_active(const std::optional<std::string>& user) const;
  Ids in_order_of_ends(Ids ids) const;
  Status sort_by_life(const Ids& ids, msg::CancelReply& reply) const;
  Time now() const { return reactor_.now(); }

  transport::Reactor& reactor_;
  const Uses uses_;
  const Hooks hooks_;
  static constexpr std::size_t kMostTaken = 256 << 20;  // bytes of graphs of a user, at once
  SharedBytes taking_{kMostTaken};
};

}  // namespace holon::instance
