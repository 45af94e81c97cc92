-- vector, free
SELECT min(VECTOR_DISTANCE(record_chunks.embedding, :query_vector, COSINE)) AS distance, record_chunks.source_record_type, record_chunks.source_id
FROM record_chunks JOIN (SELECT :param_1 AS record_type, message.record_id AS record_id, message.user_id AS user_id, message.agent_id AS agent_id, message.thread_id AS thread_id, message.metadata AS metadata
FROM message
WHERE message.expires_at IS NULL OR message.expires_at > SYSTIMESTAMP UNION ALL SELECT memory.memory_type AS record_type, memory.record_id AS record_id, memory.user_id AS user_id, memory.agent_id AS agent_id, memory.thread_id AS thread_id, memory.metadata AS metadata
FROM memory
WHERE memory.expires_at IS NULL OR memory.expires_at > SYSTIMESTAMP UNION ALL SELECT :param_2 AS record_type, document.record_id AS record_id, document.user_id AS user_id, document.agent_id AS agent_id, document.thread_id AS thread_id, document.metadata AS metadata
FROM document
WHERE (document.expires_at IS NULL OR document.expires_at > SYSTIMESTAMP) AND NOT (EXISTS (SELECT parent.record_id
FROM message parent
WHERE parent.record_id = document.message_id AND parent.expires_at <= SYSTIMESTAMP)) UNION ALL SELECT CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN :param_3 ELSE :param_4 END AS record_type, actor_profile.actor_id AS record_id, CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN actor_profile.actor_id END AS user_id, CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN NULL ELSE actor_profile.actor_id END AS agent_id, CAST(NULL AS VARCHAR2(128)) AS thread_id, actor_profile.metadata AS metadata
FROM actor_profile) src ON record_chunks.source_record_type = src.record_type AND src.record_id = record_chunks.source_id
WHERE record_chunks.embedding IS NOT NULL GROUP BY record_chunks.source_record_type, record_chunks.source_id ORDER BY min(VECTOR_DISTANCE(record_chunks.embedding, :query_vector, COSINE)), record_chunks.source_record_type, record_chunks.source_id
 FETCH FIRST :most ROWS ONLY

-- vector, scoped
SELECT min(VECTOR_DISTANCE(record_chunks.embedding, :query_vector, COSINE)) AS distance, record_chunks.source_record_type, record_chunks.source_id
FROM record_chunks JOIN (SELECT :param_1 AS record_type, message.record_id AS record_id, message.user_id AS user_id, message.agent_id AS agent_id, message.thread_id AS thread_id, message.metadata AS metadata
FROM message
WHERE message.expires_at IS NULL OR message.expires_at > SYSTIMESTAMP UNION ALL SELECT memory.memory_type AS record_type, memory.record_id AS record_id, memory.user_id AS user_id, memory.agent_id AS agent_id, memory.thread_id AS thread_id, memory.metadata AS metadata
FROM memory
WHERE memory.expires_at IS NULL OR memory.expires_at > SYSTIMESTAMP UNION ALL SELECT :param_2 AS record_type, document.record_id AS record_id, document.user_id AS user_id, document.agent_id AS agent_id, document.thread_id AS thread_id, document.metadata AS metadata
FROM document
WHERE (document.expires_at IS NULL OR document.expires_at > SYSTIMESTAMP) AND NOT (EXISTS (SELECT parent.record_id
FROM message parent
WHERE parent.record_id = document.message_id AND parent.expires_at <= SYSTIMESTAMP)) UNION ALL SELECT CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN :param_3 ELSE :param_4 END AS record_type, actor_profile.actor_id AS record_id, CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN actor_profile.actor_id END AS user_id, CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN NULL ELSE actor_profile.actor_id END AS agent_id, CAST(NULL AS VARCHAR2(128)) AS thread_id, actor_profile.metadata AS metadata
FROM actor_profile) src ON record_chunks.source_record_type = src.record_type AND src.record_id = record_chunks.source_id
WHERE record_chunks.embedding IS NOT NULL AND src.user_id = :user_id AND src.agent_id IS NULL AND record_chunks.source_record_type IN (__[POSTCOMPILE_types]) AND record_chunks.status != :status_1 GROUP BY record_chunks.source_record_type, record_chunks.source_id ORDER BY min(VECTOR_DISTANCE(record_chunks.embedding, :query_vector, COSINE)), record_chunks.source_record_type, record_chunks.source_id
 FETCH FIRST :most ROWS ONLY

-- vector, filtered
SELECT min(VECTOR_DISTANCE(record_chunks.embedding, :query_vector, COSINE)) AS distance, record_chunks.source_record_type, record_chunks.source_id
FROM record_chunks JOIN (SELECT :param_1 AS record_type, message.record_id AS record_id, message.user_id AS user_id, message.agent_id AS agent_id, message.thread_id AS thread_id, message.metadata AS metadata
FROM message
WHERE message.expires_at IS NULL OR message.expires_at > SYSTIMESTAMP UNION ALL SELECT memory.memory_type AS record_type, memory.record_id AS record_id, memory.user_id AS user_id, memory.agent_id AS agent_id, memory.thread_id AS thread_id, memory.metadata AS metadata
FROM memory
WHERE memory.expires_at IS NULL OR memory.expires_at > SYSTIMESTAMP UNION ALL SELECT :param_2 AS record_type, document.record_id AS record_id, document.user_id AS user_id, document.agent_id AS agent_id, document.thread_id AS thread_id, document.metadata AS metadata
FROM document
WHERE (document.expires_at IS NULL OR document.expires_at > SYSTIMESTAMP) AND NOT (EXISTS (SELECT parent.record_id
FROM message parent
WHERE parent.record_id = document.message_id AND parent.expires_at <= SYSTIMESTAMP)) UNION ALL SELECT CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN :param_3 ELSE :param_4 END AS record_type, actor_profile.actor_id AS record_id, CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN actor_profile.actor_id END AS user_id, CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN NULL ELSE actor_profile.actor_id END AS agent_id, CAST(NULL AS VARCHAR2(128)) AS thread_id, actor_profile.metadata AS metadata
FROM actor_profile) src ON record_chunks.source_record_type = src.record_type AND src.record_id = record_chunks.source_id
WHERE record_chunks.embedding IS NOT NULL AND src.user_id = :user_id AND src.agent_id IS NULL AND record_chunks.source_record_type IN (__[POSTCOMPILE_types]) AND ((NOT (src.metadata IS NOT NULL AND JSON_EXISTS(src.metadata, '$?(@."a".type() != "string" && @."a".type() != "array" && (@."a" == $v0))' PASSING JSON(:param_5) AS "v0" ERROR ON ERROR)))) AND record_chunks.status != :status_1 GROUP BY record_chunks.source_record_type, record_chunks.source_id ORDER BY min(VECTOR_DISTANCE(record_chunks.embedding, :query_vector, COSINE)), record_chunks.source_record_type, record_chunks.source_id
 FETCH FIRST :most ROWS ONLY

-- keyword, free
WITH found AS
(SELECT record_chunks.source_record_type AS source_record_type, record_chunks.source_id AS source_id, SCORE(1) AS score
FROM record_chunks
WHERE CONTAINS(record_chunks.chunk_text, :words, 1) > 0)
 SELECT max(found.score) AS score, found.source_record_type, found.source_id
FROM found LEFT OUTER JOIN message ON found.source_record_type = :source_record_type_1 AND message.record_id = found.source_id LEFT OUTER JOIN memory ON found.source_record_type IN (__[POSTCOMPILE_source_record_type_2]) AND memory.record_id = found.source_id LEFT OUTER JOIN actor_profile ON found.source_record_type IN (__[POSTCOMPILE_source_record_type_3]) AND actor_profile.actor_id = found.source_id LEFT OUTER JOIN document ON found.source_record_type = :source_record_type_4 AND document.record_id = found.source_id
WHERE message.record_id IS NOT NULL AND (message.expires_at IS NULL OR message.expires_at > SYSTIMESTAMP) OR memory.record_id IS NOT NULL AND (memory.expires_at IS NULL OR memory.expires_at > SYSTIMESTAMP) OR actor_profile.actor_id IS NOT NULL OR document.record_id IS NOT NULL AND (document.expires_at IS NULL OR document.expires_at > SYSTIMESTAMP) AND NOT (EXISTS (SELECT parent.record_id
FROM message parent
WHERE parent.record_id = document.message_id AND parent.expires_at <= SYSTIMESTAMP)) GROUP BY found.source_record_type, found.source_id ORDER BY max(found.score) DESC, sum(found.score) DESC, found.source_record_type, found.source_id
 FETCH FIRST :most ROWS ONLY

-- keyword, scoped
WITH found AS
(SELECT record_chunks.source_record_type AS source_record_type, record_chunks.source_id AS source_id, SCORE(1) AS score
FROM record_chunks
WHERE CONTAINS(record_chunks.chunk_text, :words, 1) > 0 AND (record_chunks.user_id = :user_id OR record_chunks.source_record_type = :source_record_type_1 AND record_chunks.source_id = :user_id) AND record_chunks.agent_id IS NULL AND record_chunks.source_record_type != :source_record_type_2 AND record_chunks.source_record_type IN (__[POSTCOMPILE_types]) AND record_chunks.status != :status_1)
 SELECT max(found.score) AS score, found.source_record_type, found.source_id
FROM found LEFT OUTER JOIN message ON found.source_record_type = :source_record_type_3 AND message.record_id = found.source_id LEFT OUTER JOIN memory ON found.source_record_type IN (__[POSTCOMPILE_source_record_type_4]) AND memory.record_id = found.source_id LEFT OUTER JOIN actor_profile ON found.source_record_type IN (__[POSTCOMPILE_source_record_type_5]) AND actor_profile.actor_id = found.source_id LEFT OUTER JOIN document ON found.source_record_type = :source_record_type_6 AND document.record_id = found.source_id
WHERE message.record_id IS NOT NULL AND (message.expires_at IS NULL OR message.expires_at > SYSTIMESTAMP) OR memory.record_id IS NOT NULL AND (memory.expires_at IS NULL OR memory.expires_at > SYSTIMESTAMP) OR actor_profile.actor_id IS NOT NULL OR document.record_id IS NOT NULL AND (document.expires_at IS NULL OR document.expires_at > SYSTIMESTAMP) AND NOT (EXISTS (SELECT parent.record_id
FROM message parent
WHERE parent.record_id = document.message_id AND parent.expires_at <= SYSTIMESTAMP)) GROUP BY found.source_record_type, found.source_id ORDER BY max(found.score) DESC, sum(found.score) DESC, found.source_record_type, found.source_id
 FETCH FIRST :most ROWS ONLY
