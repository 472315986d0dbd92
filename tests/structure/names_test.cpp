// Names that are compiled together: several sources of a folder are one unit
// (cmake/HolonModule.cmake).
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <regex>

#include "tests/structure/source_tree.hpp"

namespace holon::structure {
namespace {

// The folder whose sources may be compiled in one unit: "resource", or "tests/resource".
std::string unit_folder(const SourceFile& file) {
  if (file.folder != "tests") return file.folder;
  return file.path.substr(0, file.path.find('/', file.folder.size() + 1));
}

// "struct holon::Error& where, int n" without the names of the parameters: overloads may share a
// name.
std::string types_of(const std::string& parameters) {
  static const std::regex name(R"(\s*\b\w+\s*(=[^,]*)?(,|$))");
  return std::regex_replace(parameters, name, "$2");
}

// What the line, at the left margin, declares: a name, a function with the types of its parameters.
std::optional<std::string> declared(const SourceFile& file, std::size_t at) {
  static const std::regex type(R"(^(?:struct|class|enum class|enum) (\w+)\b(?!.*;$|::).*)");
  static const std::regex value(
      R"(^(?:constexpr|const|inline|static)\b[^(]*?\b(\w+)(?:\[\w*\])* ?(?:=|\{|;).*)");
  static const std::regex function(R"(^[A-Za-z_][^=;(]*?[ &*](\w+)\((.*))");
  const std::string& line = file.lines[at];
  std::smatch found;
  if (line.starts_with("using ")) return std::nullopt;  // may be said twice, if it is the same
  if (std::regex_match(line, found, type) || std::regex_match(line, found, value))
    return found[1].str();
  if (line.starts_with("TEST") || line.starts_with("RC_GTEST") || line.starts_with("template") ||
      !std::regex_match(line, found, function))
    return std::nullopt;
  std::string parameters = found[2];
  for (std::size_t next = at + 1;
       next < file.lines.size() && parameters.find(')') == std::string::npos; ++next)
    parameters += " " + file.lines[next].substr(file.lines[next].find_first_not_of(' '));
  const std::string head = parameters.substr(0, parameters.find(')'));
  if (line.ends_with(";")) return std::nullopt;  // declared, or called by a macro
  return found[1].str() + "(" + types_of(head) + ")";
}

struct Named {
  std::string unit;  // folder and namespace
  std::string name;
  bool operator<(const Named& other) const {
    return std::tie(unit, name) < std::tie(other.unit, other.name);
  }
};

std::map<Named, std::vector<std::string>> unnamed_in(const std::vector<SourceFile>& files) {
  std::map<Named, std::vector<std::string>> found;
  for (const auto& file : files) {
    if (file.folder == "bench" || file.folder == "docs") continue;  // a program each
    std::string space;
    bool unnamed = false;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto& line = file.lines[i];
      if (line == "namespace {")
        unnamed = true;
      else if (line.starts_with("}  // namespace"))
        unnamed = false;
      else if (line.starts_with("namespace "))
        space = line;
      else if (unnamed)
        if (const auto name = declared(file, i))
          found[{unit_folder(file) + " " + space, *name}].push_back(place(file, i));
    }
  }
  return found;
}

TEST(Names, DifferInTheUnnamedNamespacesOfAFolder) {
  const auto found = unnamed_in(files_in("", {".cpp"}));
  EXPECT_GT(found.size(), 1000u);  // the patterns above still match the code
  for (const auto& [named, places] : found) {
    std::string all;
    for (const auto& at : places) all += " " + at;
    EXPECT_EQ(places.size(), 1u) << named.name << " has several meanings in one unit:" << all;
  }
}

TEST(Names, ThatClashAreFound) {
  const auto file = [](std::string path, std::vector<std::string> body) {
    SourceFile made{path, "base", {"namespace holon {", "namespace {"}};
    made.lines.insert(made.lines.end(), body.begin(), body.end());
    made.lines.push_back("}  // namespace");
    made.lines.push_back("int outside(int) {");
    return made;
  };
  const auto found = unnamed_in({
      file("base/a.cpp",
           {"constexpr int kMost = 3;", "int sum(int a, const std::string& b) {", "struct Row {"}),
      file("base/b.cpp", {"constexpr long kMost[] = {3};", "int sum(int c,",
                          "        const std::string& d) {", "int sum(long a) {", "class Row {"}),
  });
  std::vector<std::string> twice;
  for (const auto& [named, places] : found)
    if (places.size() == 2) twice.push_back(named.name);
  EXPECT_EQ(twice, (std::vector<std::string>{"Row", "kMost", "sum(int, const std::string&)"}));
  EXPECT_EQ(found.size(), 4u);  // and sum(long)
}

}  // namespace
}  // namespace holon::structure
