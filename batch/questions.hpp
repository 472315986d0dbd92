// questions.hpp - what only a command of the batch system knows of the nodes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "batch/allocation.hpp"

namespace holon::batch {

// The words of the command that lists the nodes if the variables do not (Flux). Empty: they do, or
// no command does.
std::vector<std::string> nodes_command(const Allocation& allocation);

// Puts that command's output into `allocation`. Errors: invalid_argument, with the text.
Status read_nodes_answer(Allocation& allocation, std::string_view answer);

}  // namespace holon::batch
