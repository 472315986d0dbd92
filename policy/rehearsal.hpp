// rehearsal.hpp - each function of a policy called once, before anybody trusts it with jobs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "policy/program.hpp"

namespace holon::policy {

// The job that the functions are asked about, in words.
inline constexpr std::string_view kMadeUpJob =
    "4 cores for 10 minutes, which has waited for 1 minute behind a full machine of 64";

struct Rehearsed {
  std::string name;
  int line = 0;
  std::string answer;   // in words
  std::string trouble;  // the failure, with its place; "": it has answered
};

// Calls each function, in the order of the description, which is that of the program.
std::vector<Rehearsed> rehearse(const qmanager::PolicyProgram& program,
                                const Description& description);

}  // namespace holon::policy
