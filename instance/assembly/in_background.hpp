// in_background.hpp - `holon start --bg`: the supervisor in a session of its own, and the command
// that waits until the instance is up.
#pragma once
#include <string>

#include "config/config.hpp"
#include "instance/assembly/nodes.hpp"
#include "instance/basics/options.hpp"

namespace holon::instance {

// Prints the instance's uri once it is up, and returns 0; the instance lives on, with its messages
// in the state directory. One of kEndingSignals before that ends the instance, and then this
// process; an instance whose caller has gone ends, too: nobody was told of it. Parameters as of
// supervise(). REQUIRES: kEndingSignals are blocked.
int supervise_in_background(const BrokerOptions& options, const config::Config& config,
                            const Nodes& nodes, const std::string& cpuset);

}  // namespace holon::instance
