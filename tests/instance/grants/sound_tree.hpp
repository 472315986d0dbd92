// sound_tree.hpp - for the end of each test of grants: the journals of the tree agree.
#pragma once
#include <gtest/gtest.h>

#include "instance/grants/proof/prove_tree.hpp"
#include "tests/instance/live.hpp"

namespace holon::instance::testing {

// Whatever a test did. The tree may be alive.
inline void expect_sound_tree(const Live& live) {
  const TreeProof proof = prove_tree(live.dir() + "/state");
  if (proof.breach)
    ADD_FAILURE() << proof.breach->path << ": " << proof.breach->what << " with entry "
                  << proof.breach->number << ": " << proof.breach->entry;
  for (const auto& one : proof.instances)
    for (const auto& trouble : one.trouble) ADD_FAILURE() << one.path << ": " << trouble;
  EXPECT_FALSE(proof.instances.empty());
}

}  // namespace holon::instance::testing
