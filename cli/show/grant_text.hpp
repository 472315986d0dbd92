// grant_text.hpp - an entry of a journal about grants that move, as a sentence.
#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/time.hpp"

namespace holon::cli {

// "offered /3 2-3 until 15:42". `path`: of the instance whose journal it is; `name`, `what`: as in
// msg::GrantEvent, times in ms of the wall clock, `now` too. What is not known is shown as it is.
std::string text_of_grant_event(const std::string& path, std::string_view name,
                                const nlohmann::ordered_json& what, Time now);

// "/3", of the job 3 of the instance "/".
std::string path_of_child(const std::string& path, std::uint64_t job);

}  // namespace holon::cli
