// instance_id.hpp - an instance's identity, whatever else of it is lost: the file `instance.id` of
// its state directory.
//
// The first line is 128 random bits in hexadecimal digits, made once. They mark the instance's
// processes and its journal. The second line says that a journal was made: a journal that is
// missing later was lost, and is no reason to begin anew. Where the file is missing or damaged, the
// mark of the journal (journal/mark.hpp) still knows the id, and the file is written again.
#pragma once
#include <optional>
#include <string>

#include "base/result.hpp"

namespace holon::instance {

struct InstanceId {
  std::string id;
  bool has_journal = false;
};

// Returns the id, made if there is none. Errors: system; invalid_argument (no id in the file).
Result<std::string> instance_id(const std::string& state_dir);
// Reads the id without making one; nullopt: there is none. Errors: as above.
Result<std::optional<InstanceId>> read_instance_id(const std::string& state_dir);
// Notes in the file that this instance has a journal. Errors: system.
Status keep_instance_id(const std::string& state_dir, const std::string& id);
// A random id that no other instance has.
std::string new_instance_id();

}  // namespace holon::instance
