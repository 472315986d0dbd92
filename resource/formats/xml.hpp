// xml.hpp - a look at XML before it goes to a parser that recurses; private to this folder.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace holon::resource {

// Elements inside elements; no machine and no recipe is nested deeper.
inline constexpr int kMaxXmlDepth = 128;

// The most bytes of one document: a host's topology, a recipe.
inline constexpr std::size_t kMaxXmlBytes = std::size_t{64} << 20;

// Are more than kMaxXmlDepth elements open at once? O(length).
bool xml_nested_too_deep(std::string_view xml);

// The flaw for which libhwloc would crash: it takes for granted a well-formed document whose root
// is <topology> and in which each object that is no device has its sets. "": there is none.
// O(length).
std::string hwloc_xml_flaw(std::string_view xml);

}  // namespace holon::resource
