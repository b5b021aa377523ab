# What Rack reads in each query of standard input, as a line of JSON: [[path, text], …]; [] if it refuses the query.
require "json"
require "rack"

def leaves(read, path)
  case read
  when Hash then read.flat_map { |name, value| leaves(value, path + [name]) }
  when Array then read.each_with_index.flat_map { |value, place| leaves(value, path + [place.to_s]) }
  else [[path, read.to_s]]
  end
end

$stdin.each_line(chomp: true) do |query|
  read = begin
    Rack::Utils.parse_nested_query(query)
  rescue StandardError
    {}
  end
  puts JSON.generate(leaves(read, []))
end
