// directives.hpp - options in the comments at the top of a script: "#HOLON -n 4 -t 1h", Slurm's
// "#SBATCH", Flux's "# flux:".
//
// The form is that of RFC 36: a comment mark, a tag, and words as a shell splits them; with the
// tags HOLON: and flux: the mark may be another one ("-- holon: -n 4"). Directives stand before the
// first line that is neither empty nor a comment.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/parser/parser.hpp"

namespace holon::cli {

struct Directive {
  int line = 0;      // from 1
  std::string text;  // behind the tag
};

struct Directives {
  std::vector<Directive> holon, slurm, flux;
  // Directives for PBS, LSF and Grid Engine: the tag of each, "#PBS".
  std::vector<Directive> foreign;
  int late_holon = 0;  // line of the first one behind a command, not read; 0: none
};

// The directives of a text that begins with "#!"; any other text has none. O(bytes).
Directives directives_in(std::string_view text);

// The directives in the first MiB of a file; none if it cannot be read.
Directives directives_of_file(const std::string& path);

// The words of each directive, quoted or not, with the place "NAME:LINE". A # at the beginning of a
// word begins a comment; text between """ and """ may go on in the next directive. Errors:
// invalid_argument (a quote without its end).
Result<Parser::Layer> words_of(const std::vector<Directive>& directives, const std::string& name);

}  // namespace holon::cli
