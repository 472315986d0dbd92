// same_folder.hpp - whether two names are those of one folder.
#pragma once
#include <filesystem>
#include <string>

namespace holon::cli {

// Whether two names are of one folder. Equal names are, also of a folder that is not there.
inline bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || (std::filesystem::equivalent(a, b, error) && !error);
}

}  // namespace holon::cli
