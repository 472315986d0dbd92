#include "instance/resources/declared.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>

#include "instance/journal/files.hpp"

namespace holon::instance {

bool keeps_declared(const std::string& state_dir) {
  const std::string file = journal_file(state_dir);
  std::error_code none;
  if (state_dir.empty() || !std::filesystem::is_regular_file(file, none)) return false;
  try {
    const auto journal = open_to_read(file);
    SQLite::Statement bound(*journal, "SELECT value FROM meta WHERE key='resources.bind'");
    return bound.executeStep() && bound.getColumn(0).getString() == "0";
  } catch (const SQLite::Exception&) {
    return false;
  }
}

}  // namespace holon::instance
