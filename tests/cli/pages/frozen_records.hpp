// frozen_records.hpp - the records in a page that `holon report` or `holon simulate` wrote.
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "resource/jobspec/base64.hpp"
#include "web/gzip.hpp"

namespace holon::cli {

inline nlohmann::json records_of(const std::string& page) {
  const std::string begin = "id=\"frozen\">";
  const auto at = page.find(begin);
  if (at == std::string::npos) return ADD_FAILURE() << "no records in the page", nlohmann::json();
  const auto from = at + begin.size();
  const auto bytes = resource::from_base64(page.substr(from, page.find('<', from) - from));
  if (!bytes) return ADD_FAILURE() << "the records are not base64", nlohmann::json();
  return nlohmann::json::parse(web::from_gzip(*bytes), nullptr, false);
}

}  // namespace holon::cli
