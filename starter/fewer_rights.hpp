// fewer_rights.hpp - the rights that a process which stays root gives up.
#pragma once

namespace holon::starter {

// Keeps only the capabilities to become a user and to send signals, or only the latter; no program
// that is started gets any. Returns 0 or an errno.
int keep_starting();
int keep_signalling();

// Has this process any capability, or could a program that it becomes get one from it?
bool has_capabilities();

// Lets this process do from now on only what a keeper does: wait, send and receive, send signals,
// look at its children. Whatever else it tries ends it. Returns 0 or an errno.
int keep_few_calls();

}  // namespace holon::starter
