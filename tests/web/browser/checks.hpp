// checks.hpp - runs a script of this folder, which looks at pages in a browser, and tells each of
// its checks. HOLON_PICTURES names a folder for pictures.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "browser_place.hpp"  // written by CMake
#include "places.hpp"         // written by CMake

namespace holon::web::testing {

// Is there a browser, and what drives it?
inline bool has_browser() {
  return !std::string(HOLON_BROWSER_MODULES).empty() &&
         std::system("command -v chromium node > /dev/null") == 0;
}

// What a script asks the test to do meanwhile, by name.
using Acts = std::map<std::string, std::function<void()>>;

// `home`: for what the browser keeps. Behind `arguments` come the folder for pictures and that of
// npm's packages. Returns how many checks there were.
inline int run_checks(const std::string& script, const std::string& home,
                      const std::vector<std::string>& arguments, const Acts& acts = {}) {
  std::string command = "HOME=" + home + " node " HOLON_SOURCE_DIR "/tests/web/browser/" + script;
  for (const auto& argument : arguments) command += " '" + argument + "'";
  const char* const pictures = std::getenv("HOLON_PICTURES");
  command += std::string(" ") + (pictures != nullptr ? pictures : "-") + " " HOLON_BROWSER_MODULES;
  FILE* out = popen((command + " 2>&1").c_str(), "r");
  if (out == nullptr) return 0;
  int checks = 0;
  std::array<char, 65'536> line{};
  while (fgets(line.data(), line.size(), out) != nullptr) {
    const auto check = nlohmann::json::parse(line.data(), nullptr, false);
    if (!check.is_object()) {
      ADD_FAILURE() << line.data();
      continue;
    }
    if (check.contains("do")) {
      acts.at(check["do"].get<std::string>())();
      continue;
    }
    ++checks;
    EXPECT_TRUE(check["good"].get<bool>()) << check.dump(1);
  }
  EXPECT_EQ(pclose(out), 0);
  return checks;
}

}  // namespace holon::web::testing
