CREATE OR REPLACE TRIGGER memory_link_delete_trg
AFTER DELETE ON memory_link
BEGIN
  UPDATE memory m SET m.status = 'valid', m.metadata = JSON_TRANSFORM(m.metadata,
    REMOVE '$."$agent_memory"."invalidation_reason"' IGNORE ON MISSING)
  WHERE m.status = 'invalid'
    AND (m.metadata IS NULL OR NOT JSON_EXISTS(m.metadata, '$."$agent_memory".invalidated_by'))
    AND NOT EXISTS (SELECT 1 FROM memory_link l WHERE l.target_memory_id = m.record_id
      AND l.relation_type IN ('supersedes', 'refines', 'duplicates'));
  UPDATE record_chunks c SET c.status = 'valid'
  WHERE c.status = 'invalid' AND c.source_record_type IN ('memory', 'guideline', 'fact', 'preference')
    AND EXISTS (SELECT 1 FROM memory m WHERE m.record_id = c.source_id
      AND m.status = 'valid');
END;
