#include "sim/report_page.hpp"

namespace holon::sim {

const std::string kReportTableHead =
    R"(<div class="wide"><table class="numbers"><thead><tr><th rowspan="2">policy</th><th rowspan="2">jobs</th>
<th colspan="4">wait</th><th colspan="4">bounded slowdown</th><th rowspan="2">utili-<br>zation</th>
<th rowspan="2">makespan</th><th rowspan="2">back-<br>filled</th><th rowspan="2">over-<br>taking</th></tr>
<tr><th>mean</th><th>median</th><th>95 %</th><th>max</th><th>mean</th><th>median</th><th>95 %</th><th>max</th></tr></thead>
<tbody>
)";

const std::string kReportTableEnd = R"(</tbody></table></div>
<p class="note">Wait: from submission to start. Bounded slowdown: (wait + run) / run, at least 1, runs shorter than 10 s taken as
10 s. 95 %: 95 of 100 jobs have this much or less. Utilization: of the processors' time until the last end. Backfilled: started by backfill, in
front of a job that could not start. Overtaking: started while a job that was submitted earlier still waited; a policy that plans every
job, as conservative does, lets jobs overtake that it does not count as backfilled.</p>
)";

}  // namespace holon::sim
