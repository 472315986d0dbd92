// recorded.hpp - an environment from a file of data/, or from a text, for tests.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/whole_file.hpp"
#include "batch/allocation.hpp"
#include "places.hpp"  // written by CMake

namespace holon::batch {

inline std::string data(const std::string& name) {
  const auto text = read_whole_file(std::string(HOLON_SOURCE_DIR) + "/tests/batch/data/" + name);
  EXPECT_TRUE(text) << name;
  return text.value_or("");
}

using Files = std::map<std::string, std::string>;

// `lines`: NAME=VALUE each. Files that the variables name have what `files` says.
inline Environment environment_of(const std::string& lines, Files files = {}) {
  Environment environment;
  for (const auto line : lines_of(lines)) {
    const auto equals = line.find('=');
    environment.variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  environment.read_file = [files = std::move(files)](const std::string& path) {
    const auto found = files.find(path);
    return found != files.end() ? Result<std::string>(found->second)
                                : fail(Errc::not_found, "No such file or directory", path);
  };
  return environment;
}

inline Environment recorded(const std::string& name, Files files = {}) {
  return environment_of(data(name), std::move(files));
}

// "n1:4 n2:4", for comparing.
inline std::string text_of(const std::vector<Node>& nodes) {
  std::string text;
  for (const Node& node : nodes)
    text += (text.empty() ? "" : " ") + node.name + ":" + std::to_string(node.cpus);
  return text;
}

}  // namespace holon::batch
