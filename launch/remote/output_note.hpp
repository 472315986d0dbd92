// output_note.hpp - a note in an agent's runtime directory of where the agent keeps output that it
// still has to hand over. The successor of a killed agent hands it over; a process that finds the
// directory without its owner removes both.
#pragma once
#include <string>

namespace holon::launch {

// Folders' names begin with this.
inline constexpr const char* kOutputFolder = "holon-output-";

// A failure to write the note is ignored: the folder then stays behind a killed agent. A note that
// says the same already is not touched: the folder of a former agent is never without its note.
void note_output_folder(const std::string& runtime_dir, const std::string& folder);
// The noted folder, if it is one of this user's; "": there is none.
std::string noted_output_folder(const std::string& runtime_dir);
// Removes the noted folder, if it is one of this user's, and the note.
void remove_noted_output(const std::string& runtime_dir);

}  // namespace holon::launch
