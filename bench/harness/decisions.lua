-- Requests for wrk, and a check of every answer: a benchmark that counts refusals is worthless.
--
-- Arguments after `--`: a file with one request a line, "<path> TAB <key, may be empty> TAB <body>"; the text that
-- every answer must contain. Requests are drawn at random. At the end one line of JSON.

local requests, expected = {}, nil
local threads = {}
wrong, example = 0, ""

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  expected = args[2]
  for line in io.lines(args[1]) do
    local path, key, body = line:match("^([^\t]*)\t([^\t]*)\t(.*)$")
    local headers = {["Content-Type"] = "application/json"}
    if key ~= "" then headers["Authorization"] = "Bearer " .. key end
    requests[#requests + 1] = wrk.format("POST", path, headers, body)
  end
  math.randomseed(20261120)
end

function request()
  return requests[math.random(#requests)]
end

function response(status, headers, body)
  if status ~= 200 or not body:find(expected, 1, true) then
    wrong = wrong + 1
    if example == "" then example = status .. " " .. body:sub(1, 300) end
  end
end

function done(summary, latency, rates)
  local wrong_in_all, first = 0, ""
  for _, thread in ipairs(threads) do
    wrong_in_all = wrong_in_all + thread:get("wrong")
    if first == "" then first = thread:get("example") end
  end
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"duration_us":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,"p999_us":%d,"max_us":%d,' ..
    '"wrong":%d,"lost":%d,"example":"%s"}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    latency:percentile(99.9), latency.max, wrong_in_all,
    errors.connect + errors.read + errors.write + errors.timeout,
    first:gsub('[%c"\\]', "'")))
end
