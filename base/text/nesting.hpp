// nesting.hpp - how deep a text nests, without reading it: a reader recurses, and so does whatever
// writes or frees what was read.
#pragma once
#include <cstddef>
#include <string_view>

namespace holon {

// The deepest nesting of lists and objects in JSON. For text that is not JSON, some number.
std::size_t json_nesting(std::string_view text);

}  // namespace holon
