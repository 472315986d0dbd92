// study.hpp - simulations as the page in one file (page.hpp): policies side by side, or a tree of
// instances and what each of them held.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/study.hpp"
#include "sim/tree/tree.hpp"

namespace holon::cli {

struct StudyReport {
  std::string title;
  // {"trace", "kth.swf"}, {"machine", "100 processors"}
  std::vector<std::pair<std::string, std::string>> facts;
};

// A part a policy, the one that won first. Errors: those of ReportPage::html().
Result<std::string> study_page(const StudyReport& report, const sim::Workload& workload,
                               const std::vector<sim::PolicyRun>& runs, std::int64_t procs);

// The jobs of the whole tree, and a chart of the grants. Errors: the same.
Result<std::string> tree_page(const StudyReport& report, const sim::Workload& workload,
                              const sim::TreePlan& plan, const sim::TreeResult& result);

// "easy won: ...", by the mean bounded slowdown; "" of less than two policies.
std::string verdict_on(const std::vector<sim::PolicyRun>& runs);

}  // namespace holon::cli
