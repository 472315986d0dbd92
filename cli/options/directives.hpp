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
#include "cli/options/parser.hpp"

namespace holon::cli {

struct Directive {
  int line = 0;      // from 1
  std::string text;  // behind the tag
};

struct Directives {
  std::vector<Directive> holon, slurm, flux;
  // Of PBS, LSF and Grid Engine: the tag of each, "#PBS".
  std::vector<Directive> foreign;
  int late_holon = 0;  // the first one behind the first command, which is not read; 0: none
};

// Of a text that begins with "#!"; any other has none. O(bytes).
Directives directives_in(std::string_view text);

// The same of a file, as far as it is one that can be read; of its first MiB.
Directives directives_of_file(const std::string& path);

// Each directive's words, in quotes or not, with the place "NAME:LINE". A # at the beginning of a
// word begins a comment; what stands between """ and """ may go on in the next directive. Errors:
// invalid_argument (a quote without its end).
Result<Parser::Layer> words_of(const std::vector<Directive>& directives, const std::string& name);

}  // namespace holon::cli
