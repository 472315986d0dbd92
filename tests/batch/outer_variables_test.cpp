// What a task finds of the job around, and that docs/environment.md says the same.
#include "batch/outer_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "places.hpp"  // written by CMake

namespace holon::batch {
namespace {

using NameSet = std::set<std::string>;

// The words between backquotes.
NameSet quoted_in(const std::string& cell) {
  NameSet names;
  for (auto at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
    const auto end = cell.find('`', at + 1);
    names.insert(cell.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

struct Page {
  NameSet taken, kept;
};
Page page() {
  Page page;
  std::ifstream in(HOLON_SOURCE_DIR "/docs/environment.md");
  bool is_table = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| of |")) is_table = true;
    if (!line.starts_with("|")) is_table = false;
    if (!is_table) continue;
    const auto second = line.find('|', 1), third = line.find('|', second + 1);
    page.taken.merge(quoted_in(line.substr(second, third - second)));
    page.kept.merge(quoted_in(line.substr(third)));
  }
  return page;
}

TEST(OuterVariables, AreThoseOfThePage) {
  Page table;
  for (const auto& row : outer_variables())
    (row.says == Says::name ? table.kept : table.taken).insert(std::string(row.pattern));
  EXPECT_EQ(page().taken, table.taken);
  EXPECT_EQ(page().kept, table.kept);
  EXPECT_GT(table.taken.size(), 60u);
}

// A name that a pattern stands for, too.
TEST(OuterVariables, EachOfThePageIsTakenOrKept) {
  const auto example = [](std::string pattern) {
    if (pattern.ends_with('*')) pattern.replace(pattern.size() - 1, 1, "ANYTHING");
    return pattern;
  };
  for (const auto& pattern : page().taken)
    EXPECT_TRUE(is_kept_from_tasks(example(pattern))) << pattern;
  for (const auto& pattern : page().kept)
    EXPECT_FALSE(is_kept_from_tasks(example(pattern))) << pattern;
}

TEST(OuterVariables, OfThePersonsOwnNoneIsTaken) {
  for (const char* name : {"PATH", "HOME", "OMP_NUM_THREADS", "PMI", "SLURM", "HYDRA_LAUNCHER",
                           "OMPI_MCA_btl", "I_MPI_FABRICS", "PEARL", "SGE_ROOT", "FLUX_URI",
                           "PBS_JOBID", "LSB_JOBID", "JOB_ID", "XDG_RUNTIME_DIR", "INVOCATION_ID"})
    EXPECT_FALSE(is_kept_from_tasks(name)) << name;
}

}  // namespace
}  // namespace holon::batch
