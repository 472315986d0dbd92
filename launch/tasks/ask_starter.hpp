// ask_starter.hpp - a request to the starter (starter/wire.hpp): it forks a process that serves it.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "starter/request.hpp"
#include "starter/wire.hpp"
#include "transport/unique_fd.hpp"

namespace holon::launch {

// `starter`: the connection to it. `streams`, `extras`: for the program to be run. Returns our end
// of the connection to the process that serves the request. Errors: out_of_range (size), system.
Result<transport::UniqueFd> ask_starter(int starter, starter::Kind kind,
                                        const starter::Request& request,
                                        const std::vector<int>& streams = {},
                                        std::uint32_t extras = 0);

}  // namespace holon::launch
