// policies.hpp - policies that users wrote in Lua: their texts, from files or from the
// configuration itself, and what they are read into.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/config.hpp"

namespace holon::config {

// Reads the policies among `names` that are files and not known yet ("./mine.lua"), and makes all
// known ones ready for a scheduler. Errors: invalid_argument (no such file; a text that is wrong,
// with its place).
Status add_policies(Config& config, const std::vector<std::string>& names);
// Adds the policies that queues of the configuration name.
Status add_policies(Config& config);

// The texts of all policies as a TOML file that needs no other file; "": there are none.
std::string policies_as_toml(const Config& config);

// Replaces --conf words that name policies by file by words with their texts, which mean the same
// on another machine, and later. Errors: those of add_policies; exists, for two files of one name.
Result<std::vector<std::string>> with_policy_texts(const std::vector<std::string>& words);

}  // namespace holon::config
