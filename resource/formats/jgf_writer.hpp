// jgf_writer.hpp - writes a JGF document vertex by vertex; private to this folder.
//
// The text is made by hand, in Fluxion's order of keys and spacing: it is the longest thing a match
// emits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resource/graph/graph.hpp"

namespace holon::resource {

struct JgfExtras {
  std::optional<std::int32_t> rank = {};  // instead of the vertex\'s own
  Amount size = 1;                        // the value of "size"; 1 is not written
  bool exclusive = false;
  std::string_view label = {};  // as the jobspec calls it
  const std::vector<std::pair<std::string, std::string>>* agfilter = nullptr;
  bool own = false;                  // also status and extensions, which Fluxion does not write
  bool up = false;                   // as up, whatever the vertex is
  std::string_view extensions = {};  // JSON object
};

class JgfWriter {
 public:
  explicit JgfWriter(const ResourceGraph& graph) : graph_(graph) {}

  void vertex(VertexId v, const JgfExtras& extras);
  // `subsystem` is an index into graph.subsystems().
  void edge(VertexId source, VertexId target, std::uint32_t subsystem);
  bool has_edges() const { return !edges_.empty(); }

  // The document, without a newline; `writer` is written if not "".
  std::string str(std::string_view writer = {}) &&;

 private:
  void begin_node(std::int64_t uniq_id);

  const ResourceGraph& graph_;
  std::string nodes_, edges_;
};

}  // namespace holon::resource
