// source_tree.hpp - the project's own files, read once, for the tests that look at the text.
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "places.hpp"  // written by CMake

namespace holon::structure {

struct SourceFile {
  std::string path;    // relative to the root: "resource/store.hpp"
  std::string folder;  // its first part: "resource"
  std::vector<std::string> lines;
};

inline std::filesystem::path root() {
  return HOLON_SOURCE_DIR;
}

inline std::vector<std::string> read_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// All files below `folder` with one of `extensions`, ordered by path. Folders that start with a dot
// and build/ are not looked into.
inline std::vector<SourceFile> files_in(const std::string& folder,
                                        const std::vector<std::string>& extensions) {
  std::vector<SourceFile> files;
  const auto base = folder.empty() ? root() : root() / folder;
  if (!std::filesystem::exists(base)) return files;
  auto entry = std::filesystem::recursive_directory_iterator(base);
  for (; entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename();
    if (entry->is_directory() && (name.starts_with(".") || name == "build")) {
      entry.disable_recursion_pending();
      continue;
    }
    const std::string extension = entry->path().extension();
    if (!entry->is_regular_file() ||
        std::find(extensions.begin(), extensions.end(), extension) == extensions.end())
      continue;
    const auto relative = entry->path().lexically_relative(root());
    files.push_back({relative, *relative.begin(), read_lines(entry->path())});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

// "resource/store.hpp:12", to put in front of a complaint.
inline std::string place(const SourceFile& file, std::size_t line_index) {
  return file.path + ":" + std::to_string(line_index + 1);
}

}  // namespace holon::structure
