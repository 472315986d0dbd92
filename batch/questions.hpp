// questions.hpp - what only a command of the batch system knows of the nodes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "batch/allocation.hpp"

namespace holon::batch {

// The words of the command that lists the nodes where the variables do not (Flux). Empty: they do,
// or nobody knows.
std::vector<std::string> nodes_command(const Allocation& allocation);

// Puts what that command wrote into `allocation`. Errors: invalid_argument, with the text.
Status read_nodes_answer(Allocation& allocation, std::string_view answer);

}  // namespace holon::batch
