// provision_service.hpp - the requests about batch jobs that bring nodes (msg/provision.hpp).
#pragma once
#include "instance/journal/after_commit.hpp"
#include "instance/provision/provisions.hpp"
#include "transport/dispatcher.hpp"

namespace holon::instance {

class ProvisionService {
 public:
  ProvisionService(Provisions& provisions, AfterCommit& after_commit)
      : provisions_(provisions), after_commit_(after_commit) {}
  void add_to(transport::Dispatcher& dispatcher);

 private:
  Provisions& provisions_;
  AfterCommit& after_commit_;
};

}  // namespace holon::instance
