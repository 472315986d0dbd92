// jgf.hpp - a JGF document as values, between the text and a graph or an allocation; private to
// this folder.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/idset.hpp"
#include "base/result.hpp"
#include "resource/formats/json.hpp"
#include "resource/graph/spec.hpp"

namespace holon::resource {

struct GraphOptions;

// A vertex with its defaults filled in.
struct JgfVertex {
  std::string key;  // the outer id that edges refer to
  std::string type, basename, name, unit;
  std::int64_t id = 0;
  std::int64_t uniq_id = GraphSpec::kNewUniqId;
  Amount size = 1;
  std::int32_t rank = -1;
  bool exclusive = false;
  bool up = true;
  bool drained = false;
  std::map<std::string, std::string> properties;
  std::map<std::string, std::string> paths;  // by subsystem
  std::string label;                         // as the jobspec calls it (ephemeral.label), or ""
  std::string extensions;                    // JSON object of "x-" keys, or ""
  std::string pointer;                       // of its metadata
};

struct JgfEdge {
  std::uint32_t source = 0, target = 0;  // index of the vertex
  std::string subsystem;
  std::string pointer;
};

struct JgfDocument {
  std::vector<JgfVertex> vertices;
  std::vector<JgfEdge> edges;
  Idset free_ranks;  // given back already: an update passes over them
};

// Reads a document whose `top` holds the key "graph". Errors: invalid_argument with a JSON pointer.
Result<JgfDocument> read_jgf_document(const JsonAt& top);
// Reads a document from text; an Rv1 is read through its `scheduling` key.
Result<JgfDocument> parse_jgf(std::string_view bytes);

Result<GraphSpec> jgf_to_spec(const JgfDocument& document, const GraphOptions& options);

}  // namespace holon::resource
