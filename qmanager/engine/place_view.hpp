// place_view.hpp - what a policy that a user wrote may know of a node. Private to qmanager/.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "qmanager/engine/state.hpp"

namespace holon::qmanager {

// The places of jobs with an attribute: found when first asked for, once for all nodes, for the
// first 64 pairs of key and value; for further pairs no job is counted.
class AttributePlaces {
 public:
  struct Counts {  // jobs
    std::map<resource::VertexId, std::int64_t> on;
    std::map<resource::VertexId, std::int64_t> below;  // by what their nodes stand in
  };

  explicit AttributePlaces(Parts<const Jobs, const Plan> s) : s_(s) {}
  const Counts& with(const std::string& key, const std::string& value);

 private:
  Parts<const Jobs, const Plan> s_;
  std::map<std::pair<std::string, std::string>, Counts> known_;
  const Counts none_;
};

class NodeView : public PlaceView {
 public:
  NodeView(const Place& place, AttributePlaces& jobs) : place_(place), jobs_(jobs) {}

  const std::string& name() const override { return place_.name; }
  const std::string& within() const override { return place_.within; }
  std::int64_t procs() const override { return place_.procs; }
  std::int64_t free_procs() const override { return place_.free; }
  std::int64_t running(const std::string& key, const std::string& value) const override;
  std::int64_t near(const std::string& key, const std::string& value) const override;

 private:
  const Place& place_;
  AttributePlaces& jobs_;
};

}  // namespace holon::qmanager
