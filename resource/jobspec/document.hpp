// document.hpp - a parsed YAML or JSON document that still knows where each value stood.
//
// The common form that the jobspec decoder reads, whichever of the two syntaxes the bytes were in.
// A private header.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace holon::resource::jobspec {

struct Document {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  bool quoted = false;  // a scalar that can only be a string: quoted in YAML, a string in JSON
  int line = 0;         // from 1; 0 in JSON, where the pointer has to do
  std::string text;     // of a scalar, as it was written
  std::vector<std::string> keys;  // of a map; keys[i] belongs to items[i]
  std::vector<Document> items;    // of a list or map

  // The value of the key; nullptr if this is no map or has no such key.
  const Document* find(std::string_view key) const;
};

// Parses the bytes. Errors: invalid_argument, also for more values than `most_values`.
Result<Document> parse_yaml(std::string_view bytes, std::size_t most_values);
Result<Document> parse_json(std::string_view bytes, std::size_t most_values);

// JSON text; plain YAML scalars become numbers, booleans and null where they read as such.
std::string to_json(const Document& document);

}  // namespace holon::resource::jobspec
