// nesting.hpp - how deep a text nests, without reading it: who does recurses, and so do those who
// write or free what was read.
#pragma once
#include <cstddef>
#include <string_view>

namespace holon {

// Lists and objects inside each other in JSON, at most. Of what is no JSON, some number.
std::size_t json_nesting(std::string_view text);

}  // namespace holon
