// completion.hpp - what a shell needs to complete the words of a command line, made of the same
// pages as --help: verbs, the verbs of groups, options, and what stands for jobs.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cli/parser/help.hpp"

namespace holon::cli {

struct CompletedVerb {
  std::string name;  // "submit", "job"
  std::string summary;
  std::vector<HelpPage> pages;  // one, or for a group one of each verb ("job wait")
  bool is_group = false;
};

std::string bash_completion(std::span<const CompletedVerb> verbs);
std::string zsh_completion(std::span<const CompletedVerb> verbs);
std::string fish_completion(std::span<const CompletedVerb> verbs);

}  // namespace holon::cli
