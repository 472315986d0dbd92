#include "cli/show/json_line.hpp"

#include <nlohmann/json.hpp>

namespace holon::cli {
namespace {

std::string line_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string error_line(std::string_view verb, const Error& error) {
  return line_of({{"error",
                   {{"verb", verb},
                    {"code", name_of(error.code)},
                    {"where", error.where},
                    {"what", error.what}}}});
}

std::string counts_line(const ProgressCounts& counts, bool over) {
  nlohmann::ordered_json json = {{"waiting", counts.waiting},
                                 {"running", counts.running},
                                 {"ended", counts.ended},
                                 {"failed", counts.failed}};
  if (over) json["over"] = true;
  return line_of(json);
}

std::string trouble_line(std::uint64_t id, const std::string& why) {
  return line_of({{"id", id}, {"trouble", why}});
}

}  // namespace holon::cli
