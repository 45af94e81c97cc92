null
    (m IS NULL OR (JSON_EXISTS(m, '$."$agent_memory"' ERROR ON ERROR) AND JSON_EQUAL(JSON_TRANSFORM(m, REMOVE '$."$agent_memory"' IGNORE ON MISSING), JSON('{}'))))
{}
    (1 = 1)
{"a": 1}
    (JSON_EXISTS(m, '$?(@."a".type() != "string" && @."a".type() != "array" && (@."a" == $v0 || @."a" == $v1))' PASSING JSON(:param_2) AS "v0", JSON(:param_3) AS "v1" ERROR ON ERROR))
{"a": "x"}
    (JSON_EXISTS(m, '$?(@."a".type() == "string" && (@."a" == $v0))' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))
{"a": null}
    (JSON_EXISTS(m, '$?(@."a".type() != "string" && @."a".type() != "array" && (@."a" == $v0))' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))
{"a": {"b": {"c": [1, 2]}}}
    ((JSON_EXISTS(m, '$?(@."a".type() == "object")' ERROR ON ERROR) AND (JSON_EXISTS(m, '$?(@."a"."b".type() == "object")' ERROR ON ERROR) AND (JSON_EXISTS(m, '$?(@."a"."b"."c".type() == "array")' ERROR ON ERROR) AND JSON_EXISTS(m, '$?(@."a"."b"."c".size() == 2)' ERROR ON ERROR) AND JSON_EXISTS(m, '$?(@."a"."b"."c"[0].type() != "string" && @."a"."b"."c"[0].type() != "array" && (@."a"."b"."c"[0] == $v0 || @."a"."b"."c"[0] == $v1))' PASSING JSON(:param_2) AS "v0", JSON(:param_3) AS "v1" ERROR ON ERROR) AND JSON_EXISTS(m, '$?(@."a"."b"."c"[1].type() != "string" && @."a"."b"."c"[1].type() != "array" && (@."a"."b"."c"[1] == $v0))' PASSING JSON(:param_4) AS "v0" ERROR ON ERROR)))))
{"a": {"$not": 2}}
    ((NOT (m IS NOT NULL AND JSON_EXISTS(m, '$?(@."a".type() != "string" && @."a".type() != "array" && (@."a" == $v0))' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR))))
{"a": {"$array_contains": ["x", "y"]}}
    (((JSON_EXISTS(m, '$?(@."a".type() == "array")' ERROR ON ERROR) AND (JSON_EXISTS(m, '$."a"[*]?(@.type() == "string" && @ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR) AND JSON_EXISTS(m, '$."a"[*]?(@.type() == "string" && @ == $v0)' PASSING JSON(:param_3) AS "v0" ERROR ON ERROR)))))
{"a": {"$not": {"$array_contains_any": ["x"]}}}
    ((NOT (((m IS NOT NULL AND JSON_EXISTS(m, '$?(@."a".type() == "array")' ERROR ON ERROR)) AND ((m IS NOT NULL AND JSON_EXISTS(m, '$."a"[*]?(@.type() == "string" && @ == $v0)' PASSING JSON(:param_2) AS "v0" ERROR ON ERROR)))))))
{"it's": {"say \"x\"": true}}
    ((JSON_EXISTS(m, '$?(@."it\u0027s".type() == "object")' ERROR ON ERROR) AND JSON_EXISTS(m, '$?(@."it\u0027s"."say \u0022x\u0022".type() != "string" && @."it\u0027s"."say \u0022x\u0022".type() != "array" && (@."it\u0027s"."say \u0022x\u0022" == $v0 || @."it\u0027s"."say \u0022x\u0022" == $v1))' PASSING JSON(:param_2) AS "v0", JSON(:param_3) AS "v1" ERROR ON ERROR)))
