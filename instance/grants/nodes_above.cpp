#include "instance/grants/nodes_above.hpp"

#include <algorithm>

#include "instance/resources/more_nodes.hpp"
#include "transport/codec/codec.hpp"

namespace holon::instance {
namespace {

constexpr Duration kAskAgain = 60'000;  // ms; nodes may have joined there, or left

}  // namespace

Time NodesAbove::due() const {
  return asked_at_ ? saturating_add(*asked_at_, kAskAgain) : 0;
}

void NodesAbove::ask(Time now, const std::function<void()>& done) {
  if (parent_ == nullptr || !parent_->is_up() || due() > now) return done();
  asked_at_ = now;
  if (!granted_.may_come()) return done();
  parent_->ask("grant.could", transport::pack(msg::GrantCould{}),
               [this, done](const Result<std::string>& told) {
                 learn(told ? transport::unpack<msg::GrantChance>(*told)
                            : tl::unexpected<Error>(told.error()));
                 done();
               });
}

void NodesAbove::learn(const Result<msg::GrantChance>& told) {
  if (!told) return;  // asked again
  shape_ = told->node;
  why_none_ = told->no_nodes;
}

Result<resource::GraphSpec> NodesAbove::node() const {
  return shape_.empty() ? own_node(store_.graph()) : node_of_shape(shape_);
}

std::int64_t NodesAbove::cores_of_one() const {
  const auto one = node();
  return one ? cores_in(*one) : 0;
}

}  // namespace holon::instance
