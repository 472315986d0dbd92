// xml.hpp - a look at XML before it goes to a parser that recurses; private to this folder.
#pragma once
#include <string_view>

namespace holon::resource {

// Elements inside elements; no machine and no recipe is nested deeper.
inline constexpr int kMaxXmlDepth = 128;

// Are more than kMaxXmlDepth elements open at once? O(length).
bool xml_nested_too_deep(std::string_view xml);

}  // namespace holon::resource
