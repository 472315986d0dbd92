// Inputs that a fuzz target once failed on, cut down to what mattered.
#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace holon::resource
