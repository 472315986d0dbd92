// config_service.hpp - the requests about the configuration (msg/config.hpp).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "instance/journal/after_commit.hpp"
#include "instance/manager/manager.hpp"
#include "instance/policy/policies.hpp"
#include "msg/config.hpp"
#include "qmanager/scheduler.hpp"
#include "resource/store.hpp"
#include "transport/dispatcher.hpp"
#include "transport/reactor.hpp"

namespace holon::instance {

class ConfigService {
 public:
  struct Uses {
    const JobManager& jobs;
    const resource::ResourceStore& store;
    const qmanager::Scheduler& scheduler;
    const Policies& policies;
    AfterCommit& after_commit;
  };
  // `words`: those of --conf, as this broker was told them. `told`: settings beside the
  // configuration that are shown with it. `begin_again`: another broker begins, with what is then
  // kept under these words.
  ConfigService(transport::Reactor& reactor, Uses uses, std::vector<std::string> words,
                std::vector<config::Effective> told, std::function<void()> begin_again)
      : reactor_(reactor),
        uses_(uses),
        words_(std::move(words)),
        told_(std::move(told)),
        begin_again_(std::move(begin_again)) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  void get(const transport::Request& request) const;
  void put_live_policies(std::vector<config::Effective>& all) const;
  void reload(const transport::Request& request);
  Status may_change(const std::vector<msg::ConfigChange>& changes,
                    const std::vector<config::Effective>& after) const;
  Status try_out(const config::Config& next) const;

  transport::Reactor& reactor_;
  const Uses uses_;
  const std::vector<std::string> words_;
  const std::vector<config::Effective> told_;
  const std::function<void()> begin_again_;
};

}  // namespace holon::instance
