// ask_starter.hpp - a request to the starter (starter/wire.hpp): it forks a process that serves it.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// `starter`: the connection to it. `streams`, `extras`: of what is to be run. Returns our end of
// the connection to whoever serves the request. Errors: out_of_range (its size), system.
Result<transport::UniqueFd> ask_starter(int starter, starter::Kind kind,
                                        const starter::Request& request,
                                        const std::vector<int>& streams = {},
                                        std::uint32_t extras = 0);

}  // namespace holon::launch
