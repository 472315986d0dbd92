// planted.hpp - the children that an instance plants as it begins (--tree): one for each part of
// its resources. They are jobs of it like any other child, run again with it after a crash, each
// from its own journal, and plant the levels below them themselves.
//
// The journal has the shape, the configuration of the levels, and which jobs the children are;
// these are written together with the jobs, so that a broker that is killed leaves all or nothing.
// A run that begins plants only where no child of an earlier one is left.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"
#include "instance/journal/journal.hpp"
#include "instance/manager/manager.hpp"
#include "instance/shape/division.hpp"
#include "instance/shape/tree_shape.hpp"
#include "resource/store.hpp"

namespace holon::instance {

class Planted {
 public:
  struct Uses {
    const std::string& binary;  // the holon program
    const resource::ResourceStore& store;
    Journal& journal;
    JobManager& jobs;
  };
  // What was asked for when the instance was started.
  struct Asked {
    std::string shape;              // as of --tree; "": as the journal has it
    std::vector<std::string> conf;  // "LEVEL:ITEM" of the levels below this instance, from 1 on
  };
  explicit Planted(Uses uses) : uses_(uses) {}

  // Reads what the journal has, and plants where this is to be done. `fresh`: a run begins. Errors:
  // out_of_range (too many leaves for the resources, with the numbers), exists (children of another
  // shape, or with other settings, go on), those of the journal.
  Status begin(const Asked& asked, bool fresh, Time now);

  const std::string& shape() const { return shape_; }               // "4x4"; "": no tree
  const std::vector<JobId>& children() const { return children_; }  // over or not

 private:
  Status recall();
  bool is_any_left() const;
  Status check_known(const Asked& asked) const;
  Status plant(const TreeShape& shape, const std::vector<std::string>& conf, Time now);
  Result<std::vector<resource::Jobspec>> specs_of(const std::vector<NodeAmounts>& nodes,
                                                  const std::vector<Slice>& parts,
                                                  std::vector<std::string> command, Time now) const;
  bool has_room_for(const std::vector<resource::Jobspec>& specs, Time now) const;
  void keep(const std::vector<std::string>& conf);

  const Uses uses_;
  std::string shape_;
  std::vector<std::string> conf_;
  std::vector<JobId> children_;
};

}  // namespace holon::instance
