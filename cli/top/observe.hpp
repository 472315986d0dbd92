// observe.hpp - from a command line to the instance that it looks at for longer than an answer
// takes.
#pragma once
#include "cli/verb.hpp"
#include "client/observer.hpp"

namespace holon::cli {

// The instance that connect_to_instance() finds (connect.hpp), to be followed. Errors: those of
// Client::connect().
Result<client::Observer> connect_observer(const Invocation& call);

}  // namespace holon::cli
