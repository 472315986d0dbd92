// The pages that a reader looks for: a read-me in every folder, and the documents the front page
// names.
#include <gtest/gtest.h>

#include "tests/structure/source_tree.hpp"

namespace holon::structure {
namespace {

const std::vector<std::string> kFolders = {
    "base",      "batch",   "pmi",   "resource", "qmanager", "policy",    "holdings",  "sim",
    "transport", "launch",  "msg",   "client",   "instance", "cli",       "tests",     "bench",
    "docs",      "scripts", "world", "python",   "web",      "packaging", "standalone"};

TEST(Pages, EveryFolderSaysWhatItIs) {
  for (const auto& folder : kFolders) {
    const auto readme = read_lines(root() / folder / "README.md");
    EXPECT_FALSE(readme.empty()) << folder << "/README.md is missing";
    EXPECT_LE(readme.size(), 60u) << folder << "/README.md: less than a page";
  }
}

TEST(Pages, TheRootHasWhatAReaderLooksFor) {
  for (const char* name : {"README.md", "LICENSE", "NEWS.md", "CONTRIBUTING.md", ".clang-format",
                           ".clang-tidy", ".gitignore", "CMakePresets.json", ".ci/run",
                           "scripts/demo", "scripts/test", "docs/glossary.md", "docs/protocol.md",
                           "docs/config.md", "docs/exit-codes.md", "docs/guide.md"})
    EXPECT_TRUE(std::filesystem::exists(root() / name)) << name;
}

}  // namespace
}  // namespace holon::structure
