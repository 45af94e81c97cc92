null
    (m IS NULL OR (JSON_EXISTS(m, '$."$agent_memory"') AND JSON_EQUAL(JSON_TRANSFORM(m, REMOVE '$."$agent_memory"' IGNORE ON MISSING), JSON('{}'))))
{}
    (1 = 1)
{"a": 1}
    (JSON_EXISTS(m, '$."a"?(@ == $v0 || @ == $v1)' PASSING JSON(:param_2) AS "v0", JSON(:param_3) AS "v1" ERROR ON ERROR))
{"a": "x"}
    (JSON_EXISTS(m, '$."a"?(@ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))
{"a": null}
    (JSON_EXISTS(m, '$."a"?(@ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))
{"a": {"b": {"c": [1, 2]}}}
    ((JSON_EXISTS(m, '$."a"?(@.type() == "object")' ERROR ON ERROR) AND (JSON_EXISTS(m, '$."a"."b"?(@.type() == "object")' ERROR ON ERROR) AND JSON_EXISTS(m, '$."a"."b"."c"?(@ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))))
{"a": {"$not": 2}}
    ((NOT (m IS NOT NULL AND JSON_EXISTS(m, '$."a"?(@ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))))
{"a": {"$array_contains": ["x", "y"]}}
    (((JSON_EXISTS(m, '$."a"?(@.type() == "array")' ERROR ON ERROR) AND (JSON_EXISTS(m, '$."a"[*]?(@ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR) AND JSON_EXISTS(m, '$."a"[*]?(@ == $v0)' PASSING JSON(:param_3) AS "v0" ERROR ON ERROR)))))
{"a": {"$not": {"$array_contains_any": ["x"]}}}
    ((NOT (((m IS NOT NULL AND JSON_EXISTS(m, '$."a"?(@.type() == "array")' ERROR ON ERROR)) AND ((m IS NOT NULL AND JSON_EXISTS(m, '$."a"[*]?(@ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR)))))))
{"it's": {"say \"x\"": true}}
    ((JSON_EXISTS(m, '$."it''s"?(@.type() == "object")' ERROR ON ERROR) AND JSON_EXISTS(m, '$."it''s"."say \"x\""?(@ == $v0 || @ == $v1)' PASSING JSON(:param_2) AS "v0", JSON(:param_3) AS "v1" ERROR ON ERROR)))
