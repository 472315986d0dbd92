-- Wide jobs at night. By day they start only where they are in nobody's way.
base = "easy"

local function is_night(view)
  local hour = view.time_of_day // 3600
  return hour >= 20 or hour < 7
end

local function is_wide(job, view)
  return job.cores * 2 > view.cores
end

function priority(job, view)
  if is_wide(job, view) == is_night(view) then return 1 end
  return 0
end

-- A reservation for a wide job would empty the machine by day.
function may_reserve(job, view)
  if is_wide(job, view) and not is_night(view) then return false end
end
