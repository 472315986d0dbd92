// The short shape notation: what a line becomes, and where a bad one is wrong.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"

namespace holon::resource {
namespace {

// One line a vertex: indented name, rank, size and unit.
std::string drawing_of_shape(std::string_view shape) {
  const auto spec = read_shape(shape);
  if (!spec) return to_string(spec.error());
  const auto graph = ResourceGraph::build(*spec);
  if (!graph) return to_string(graph.error());
  std::string text;
  for (const auto v : graph->in_preorder()) {
    text += std::string(graph->depth(v), ' ') + graph->name(v);
    if ((*graph)[v].rank >= 0) text += " r" + std::to_string((*graph)[v].rank);
    if ((*graph)[v].size != 1) text += " x" + std::to_string((*graph)[v].size);
    text += std::string(graph->unit(v));
    for (const auto& p : graph->properties(v)) text += " " + graph->words().names.text(p.key);
    text += "\n";
  }
  return text;
}

TEST(Shape, SiblingsShareTheLastLevelsParent) {
  EXPECT_EQ(drawing_of_shape("node=2/core=2,memory=16,gpu"),
            "cluster0\n"
            " node0 r0\n  core0 r0\n  core1 r0\n  memory0 r0 x16GiB\n  gpu0 r0\n"
            " node1 r1\n  core0 r1\n  core1 r1\n  memory0 r1 x16GiB\n  gpu0 r1\n");
}

TEST(Shape, IdsCountThroughTheHostBelowAndThroughTheTreeAboveIt) {
  EXPECT_EQ(drawing_of_shape("rack=2/node=1/socket=2/core=1"),
            "cluster0\n"
            " rack0\n  node0 r0\n   socket0 r0\n    core0 r0\n   socket1 r0\n    core1 r0\n"
            " rack1\n  node1 r1\n   socket0 r1\n    core0 r1\n   socket1 r1\n    core1 r1\n");
}

TEST(Shape, ASlashDescendsIntoTheLastSibling) {
  EXPECT_EQ(drawing_of_shape("node/memory=2:8,socket/core"),
            "cluster0\n node0 r0\n  memory0 r0 x8GiB\n  memory1 r0 x8GiB\n  socket0 r0\n"
            "   core0 r0\n");
}

TEST(Shape, BracketsListAlternativesOfOneLevel) {
  EXPECT_EQ(drawing_of_shape("[node/core;node{big,amd}/gpu]"),
            "cluster0\n node0 r0\n  core0 r0\n node1 r1 amd big\n  gpu0 r1\n");
}

TEST(Shape, WithoutANodeThereIsOne) {
  EXPECT_EQ(drawing_of_shape("core=1"), "cluster0\n node0 r0\n  core0 r0\n");
  EXPECT_EQ(drawing_of_shape("cluster/node/core"), "cluster0\n node0 r0\n  core0 r0\n");
}

struct Bad {
  const char* text;
  const char* where;
  const char* what;
};

TEST(Shape, SaysWhereABadLineIsWrong) {
  const Bad cases[] = {
      {"", "column 1", "type is missing"},
      {"node=", "column 6", "whole number"},
      {"node=0", "column 6", "above 0"},
      {"node=-3", "column 6", "above 0"},
      {"node=nan", "column 6", "whole number"},
      {"node=4/", "column 8", "type is missing"},
      {"node=4//core", "column 8", "type is missing"},
      {"node=4 core", "column 7", "' ' is not expected"},
      {"node=2/core=99999999999999999999", "column 13", "too large"},
      {"node=1000000000000000000", "column 1", "vertices"},
      {"node=100000/core=100000", "column 1", "vertices"},
      {"4node", "column 6", "no resource type"},
      {"[node;core", "column 11", "']'"},
      {"node{", "column 6", "property is missing"},
      {"node{a", "column 7", "'}'"},
      {"node/node", "column 1", "inside a node"},
  };
  for (const auto& bad : cases) {
    const auto spec = read_shape(bad.text);
    ASSERT_FALSE(spec) << bad.text;
    EXPECT_EQ(spec.error().where, bad.where) << bad.text;
    EXPECT_NE(spec.error().what.find(bad.what), std::string::npos) << spec.error().what;
  }
}

TEST(Shape, RefusesAHundredThousandLevels) {
  std::string slashes = "node", brackets;
  for (int i = 0; i < 100000; ++i) {
    slashes += "/group";
    brackets += '[';
  }
  EXPECT_EQ(read_shape(slashes).error().code, Errc::out_of_range);
  EXPECT_EQ(read_shape(brackets).error().code, Errc::out_of_range);
}

RC_GTEST_PROP(ShapeProperty, AnythingElseIsAnErrorWithAColumnAndNeverACrash, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("node=/core,[];{}19:abc \xff")));
  const auto spec = read_shape(text);
  if (spec) {
    RC_ASSERT(ResourceGraph::build(*spec).has_value());
  } else {
    RC_ASSERT(spec.error().where.starts_with("column "));
  }
}

}  // namespace
}  // namespace holon::resource
