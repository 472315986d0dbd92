// supervisor_lock.hpp - a sign of life in the runtime directory: a file that the supervisor holds a
// lock on. By it a broker that is being started again is told from an instance that is gone.
#pragma once
#include <string>

#include "transport/unique_fd.hpp"

namespace holon::transport {

// Taken by the supervisor and held for as long as it keeps the descriptor; empty: it could not be.
UniqueFd lock_supervisor(const std::string& runtime_dir);

// Does the instance of this runtime directory have a supervisor?
bool supervisor_lives(const std::string& runtime_dir);

}  // namespace holon::transport
