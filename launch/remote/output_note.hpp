// output_note.hpp - where an agent keeps output that it still has to hand over, written down in its
// runtime directory. The agent that follows one which was killed hands it over; a process that
// finds the directory without its owner removes both.
#pragma once
#include <string>

namespace holon::launch {

// What the folders' names begin with.
inline constexpr const char* kOutputFolder = "holon-output-";

// A note that cannot be written is not missed: the folder then stays behind a killed agent. One
// that says so already is not touched: the folder of a former agent is never without its note.
void note_output_folder(const std::string& runtime_dir, const std::string& folder);
// The folder that is noted there, if it is one of this user's; "": there is none.
std::string noted_output_folder(const std::string& runtime_dir);
// Removes the folder that is noted there, if it is one of this user's, and the note.
void remove_noted_output(const std::string& runtime_dir);

}  // namespace holon::launch
