<?php // What PHP reads in each query of standard input, as a line of JSON: [[path, text], …].
function leaves($read, $path) {
    foreach ($read as $name => $value) {
        $at = [...$path, (string) $name];
        if (is_array($value)) yield from leaves($value, $at);
        else yield [$at, $value];
    }
}
while (($query = fgets(STDIN)) !== false) {
    parse_str(rtrim($query, "\n"), $read);
    echo json_encode([...leaves($read, [])], JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR), "\n";
}
