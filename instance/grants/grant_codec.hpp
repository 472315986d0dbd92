// grant_codec.hpp - entries and messages of holdings/ as JSON: for the journal, and on the way to
// the instance above or below.
//
// The clocks of two instances differ: a time is written as what it is ahead of `base`, and read
// back by the reader's own. The journal's base is 0.
#pragma once
#include <string>
#include <string_view>

#include "holdings/book.hpp"
#include "holdings/messages.hpp"

namespace holon::instance {

std::string text_of(const holdings::Entry& entry, Time base);
std::string text_of(const holdings::Message& message, Time base);
// Errors of both: protocol, with what does not fit.
Result<holdings::Entry> parse_entry(std::string_view text, Time base);
Result<holdings::Message> parse_message(std::string_view text, Time base);

// "extend", "taken", ...
const char* name_of(const holdings::Message& message);

}  // namespace holon::instance
