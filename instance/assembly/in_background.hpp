// in_background.hpp - `holon start --bg`: the supervisor in a session of its own, and the command
// that waits until the instance is up.
#pragma once
#include <functional>
#include <string>

#include "config/config.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/basics/options.hpp"

namespace holon::instance {

// Returns what `when_up` makes of the instance's uri once it is up; the instance lives on, with its
// messages in the state directory. If one of kEndingSignals comes before that, the instance ends,
// and then this process; so does an instance whose caller has gone: nobody knows of it. Parameters
// as of supervise(). REQUIRES: kEndingSignals are blocked.
int supervise_in_background(const BrokerOptions& options, const config::Config& config,
                            const Nodes& nodes, const std::string& cpuset,
                            const std::function<int(const std::string& uri)>& when_up);

}  // namespace holon::instance
