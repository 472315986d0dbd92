// Inputs that a fuzz target once failed on, cut down to what mattered.
#include <gtest/gtest.h>

#include <string>

#include "resource/formats/readers.hpp"
#include "resource/graph/graph.hpp"
#include "resource/jobspec/jobspec.hpp"

namespace holon::resource {
namespace {

std::string jobspec_with_type(const std::string& type) {
  return "version: 9999\nresources:\n  - type: " + type +
         "\n    count: 1\ntasks: []\nattributes: {system: {duration: 1}}\n";
}

// YAML let them through, and JSON could not keep them: what was written was another jobspec.
TEST(FuzzFindings, AJobspecThatIsNotUtf8IsRefused) {
  const auto jobspec =
      parse_jobspec(jobspec_with_type("so\xff\xff"
                                      "cket"));
  ASSERT_FALSE(jobspec);
  EXPECT_EQ(jobspec.error().code, Errc::invalid_argument);
}

// yaml-cpp 0.7 makes one byte, which is no UTF-8, of the escape for a no-break space.
TEST(FuzzFindings, AnEscapeThatMakesNoUtf8IsRefusedWithItsLine) {
  for (const char* type : {R"("so\_cket")", R"("so\0cket")"}) {
    const auto jobspec = parse_jobspec(jobspec_with_type(type));
    ASSERT_FALSE(jobspec) << type;
    EXPECT_EQ(jobspec.error().where, "line 3") << type;
  }
}

// GraphML's parser does not look; the JGF of such a graph could not be read.
TEST(FuzzFindings, AGraphWithASubsystemThatIsNotUtf8IsRefused) {
  GraphSpec spec;
  spec.add("cluster", 0, GraphSpec::kNone);
  spec.subsystems = {"co\x94\x8b"};
  EXPECT_EQ(check(spec).error().where, "subsystems");
  spec.subsystems = {"containment"};
  spec.rows[0].unit = spec.words.names.intern("\xff");
  EXPECT_EQ(check(spec).error().where, "names");
}

// A gigabyte of a name took 8 GB and most of a minute, and was accepted.
TEST(FuzzFindings, AStringOrADocumentBeyondAllMeasureIsRefusedWithItsPlace) {
  const std::string name(std::size_t{17} << 20, 'a');
  const auto graph = read_jgf(R"({"graph":{"nodes":[{"id":")" + name + R"("}],"edges":[]}})");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().where, "line 1, column 26");
  EXPECT_NE(graph.error().what.find("16777216"), std::string::npos);
  const std::string blanks(std::size_t{65} << 20, ' ');
  EXPECT_EQ(read_grug(blanks).error().where, "GraphML");
  const HostTopology host{blanks, 0, "n0"};
  EXPECT_NE(read_hwloc({&host, 1}).error().what.find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace holon::resource
