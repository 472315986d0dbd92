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

// A name at the left margin; for an alias what it stands for, because the same alias may be said
// twice.
struct Declared {
  std::string name;
  std::string alias_of;
};

// The type or the alias that a line declares.
std::optional<Declared> declared_type(const std::string& line) {
  static const std::regex type(R"(^(?:struct|class|enum class|enum) (\w+)\b(?!;$|::|<).*)");
  static const std::regex alias(R"(^using (\w+) =(.*))");
  std::smatch found;
  if (std::regex_match(line, found, type)) return Declared{found[1], ""};
  if (std::regex_match(line, found, alias)) return Declared{found[1], found[2]};
  return std::nullopt;
}

// What the line declares: a type, an alias, a value, a function with the types of its parameters.
std::optional<Declared> declared(const SourceFile& file, std::size_t at) {
  static const std::regex value(
      R"(^(?:constexpr|const|inline|static)\b[^(]*?\b(\w+)(?:\[\w*\])* ?(?:=|\{|;).*)");
  static const std::regex function(R"(^[A-Za-z_][^=;(]*?[ &*](\w+)\((.*))");
  const std::string& line = file.lines[at];
  std::smatch found;
  if (auto type = declared_type(line)) return type;
  if (line.starts_with("using ")) return std::nullopt;
  if (std::regex_match(line, found, value)) return Declared{found[1], ""};
  if (line.starts_with("TEST") || line.starts_with("RC_GTEST") || line.starts_with("template") ||
      !std::regex_match(line, found, function))
    return std::nullopt;
  std::string parameters = found[2];
  for (std::size_t next = at + 1;
       next < file.lines.size() && parameters.find(')') == std::string::npos; ++next)
    parameters += " " + file.lines[next].substr(file.lines[next].find_first_not_of(' '));
  const std::string head = parameters.substr(0, parameters.find(')'));
  if (line.ends_with(";")) return std::nullopt;  // declared, or called by a macro
  return Declared{found[1].str() + "(" + types_of(head) + ")", ""};
}

struct Named {
  std::string unit;  // folder and namespace
  std::string name;
  bool operator<(const Named& other) const {
    return std::tie(unit, name) < std::tie(other.unit, other.name);
  }
};

// The different meanings of a name, with the first place of each.
struct Meanings {
  std::map<std::string, std::string>
      places;            // by what the alias stands for, or by the place itself
  bool unnamed = false;  // one of them is in an unnamed namespace
  bool clash() const { return unnamed && places.size() > 1; }
};

// What sources have in unnamed namespaces, and the types that headers have in the namespace around
// them.
std::map<Named, Meanings> names_in(const std::vector<SourceFile>& files) {
  std::map<Named, Meanings> found;
  for (const auto& file : files) {
    if (file.folder == "bench" || file.folder == "docs") continue;  // a program each
    const bool header = file.path.ends_with(".hpp");
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
      else if (unnamed || header)
        if (const auto name = header ? declared_type(line) : declared(file, i)) {
          Meanings& meanings = found[{unit_folder(file) + " " + space, name->name}];
          meanings.unnamed |= unnamed;
          const std::string at = place(file, i);
          meanings.places.emplace(name->alias_of.empty() ? at : name->alias_of, at);
        }
    }
  }
  return found;
}

TEST(Names, DifferInTheUnnamedNamespacesOfAFolder) {
  const auto found = names_in(files_in("", {".cpp", ".hpp"}));
  EXPECT_GT(found.size(), 1000u);  // the patterns above still match the code
  for (const auto& [named, meanings] : found) {
    std::string all;
    for (const auto& [meaning, at] : meanings.places) all += " " + at;
    EXPECT_FALSE(meanings.clash()) << named.name << " has several meanings in one unit:" << all;
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
  const auto found = names_in({
      file("base/a.cpp", {"constexpr int kMost = 3;", "int sum(int a, const std::string& b) {",
                          "struct Row {", "struct Kind { int magic; };", "struct Later;",
                          "using Json = nlohmann::json;", "using Text = std::string;"}),
      file("base/b.cpp",
           {"constexpr long kMost[] = {3};", "int sum(int c,", "        const std::string& d) {",
            "int sum(long a) {", "class Row {",
            "enum class Kind : std::uint8_t { property, host };", "class Later {",
            "using Json = nlohmann::ordered_json;", "using Text = std::string;", "struct Shown {"}),
      {"base/a.hpp", "base", {"namespace holon {", "struct Shown {", "struct Alone {"}},
      {"base/b.hpp", "base", {"namespace holon {", "struct Alone;", "using Text = std::string;"}},
  });
  std::vector<std::string> clashes;
  std::vector<std::string> fine;
  for (const auto& [named, meanings] : found)
    (meanings.clash() ? clashes : fine).push_back(named.name);
  EXPECT_EQ(clashes, (std::vector<std::string>{"Json", "Kind", "Row", "Shown", "kMost",
                                               "sum(int, const std::string&)"}));
  EXPECT_EQ(fine, (std::vector<std::string>{"Alone", "Later", "Text", "sum(long)"}));
}

}  // namespace
}  // namespace holon::structure
