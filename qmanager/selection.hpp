// selection.hpp - how a job came to start, as the word that records have.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

#include "qmanager/scheduler.hpp"

namespace holon::qmanager {

// By Selection.
inline constexpr std::array<std::string_view, 3> kSelectionWords = {"immediate", "backfill",
                                                                    "reserved"};

inline std::string_view word_of(Selection selection) {
  return kSelectionWords[static_cast<std::size_t>(selection)];
}

// `immediate` of a job that has not started, whose word is "".
inline Selection selection_of(std::string_view word) {
  const auto* const found = std::find(kSelectionWords.begin(), kSelectionWords.end(), word);
  return found == kSelectionWords.end() ? Selection::immediate
                                        : static_cast<Selection>(found - kSelectionWords.begin());
}

}  // namespace holon::qmanager
