#include "launch/mpi/kept_bytes.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace holon::launch {
namespace {

TEST(KeptBytes, AreBoundedForAUserAndForAll) {
  const auto all = std::make_shared<KeptBytes>(100, 250);
  std::optional<KeptBytes::Part> first(std::in_place, all, "ann");
  KeptBytes::Part second(all, "ann"), bobs(all, "bob"), eves(all, "eve");
  EXPECT_TRUE(first->resize(60));
  EXPECT_FALSE(second.resize(41)) << "of all of ann's jobs together";
  EXPECT_TRUE(second.resize(40));
  EXPECT_TRUE(bobs.resize(100)) << "another user's bound is another one";
  EXPECT_FALSE(eves.resize(51)) << "no more than all may";
  EXPECT_TRUE(eves.resize(50));
  EXPECT_EQ(all->of_all(), 250u);
  EXPECT_FALSE(second.resize(50));
  EXPECT_TRUE(second.resize(10)) << "it is always allowed to keep less";
  first.reset();
  EXPECT_EQ(all->of_all(), 160u) << "what a job has kept goes with it";
  EXPECT_TRUE(second.resize(100));
}

TEST(KeptBytes, OfNobodyAreNotCounted) {
  KeptBytes::Part part;
  EXPECT_TRUE(part.resize(std::size_t{1} << 40));
}

}  // namespace
}  // namespace holon::launch
