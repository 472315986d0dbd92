// records.hpp - the records of jobs here and below, as far as this instance knows them: of its own
// jobs, and those that children have told, shown, or left.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/tree/children.hpp"
#include "instance/tree/identity.hpp"
#include "instance/tree/parent_link.hpp"
#include "instance/users/access.hpp"
#include "msg/instance.hpp"

namespace holon::instance {

class Records {
 public:
  struct Uses {
    const Identity& identity;
    JobManager& jobs;
    Journal& journal;
    Children& children;
    const Access& access;
    ParentLink* parent;  // is told of changes; null at a root
  };
  explicit Records(Uses uses) : uses_(uses) {}

  // The newest record of any job here or below; nullopt: none.
  std::optional<msg::JobRecord> find(const std::string& path) const;
  // Handles "record" from a child.
  void take(const transport::Request& request, Time now);
  // A record that a child has answered with, as it is to be shown after the commit; nullopt: it is
  // not of a job of the child's.
  std::optional<msg::JobRecord> shown(JobId child, msg::JobRecord record);
  // For a journalled record of a job below: the time that it is true for; 0: it is the last word.
  Time as_of(const msg::JobRecord& record) const;

 private:
  const Uses uses_;
};

}  // namespace holon::instance
