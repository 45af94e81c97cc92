CREATE TABLE agent_memory_stores (
	memory_store_uid RAW(16) DEFAULT SYS_GUID() NOT NULL,
	owner_id VARCHAR2(128) NOT NULL,
	memory_store_name VARCHAR2(128) NOT NULL,
	lifecycle_state VARCHAR2(30) DEFAULT 'CREATING' NOT NULL,
	schema_version VARCHAR2(30) NOT NULL,
	store_config CLOB NOT NULL,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	updated_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	CONSTRAINT agent_memory_stores_pk PRIMARY KEY (memory_store_uid),
	CONSTRAINT agent_memory_stores_config_json_ck CHECK (store_config IS JSON STRICT),
	CONSTRAINT agent_memory_stores_owner_uk UNIQUE (owner_id, memory_store_name),
	CHECK (lifecycle_state IN ('CREATING', 'CREATED', 'UPGRADE_REQUIRED', 'UPGRADING', 'FAILED', 'DROPPING'))
)

CREATE TABLE acme_thread (
	record_id VARCHAR2(128) NOT NULL,
	user_id VARCHAR2(128),
	agent_id VARCHAR2(128),
	space_id VARCHAR2(128),
	metadata JSON,
	runtime_config JSON,
	runtime_state JSON,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (record_id)
)

CREATE INDEX acme_x_thread_agent_i ON acme_thread (agent_id, created_at, record_id)

CREATE INDEX acme_x_thread_created_i ON acme_thread (created_at, record_id)

CREATE INDEX acme_x_thread_user_i ON acme_thread (user_id, created_at, record_id)

CREATE TABLE acme_thread_summary (
	record_id VARCHAR2(128) NOT NULL,
	thread_id VARCHAR2(128) NOT NULL,
	user_id VARCHAR2(128),
	agent_id VARCHAR2(128),
	space_id VARCHAR2(128),
	content JSON NOT NULL,
	metadata JSON,
	status VARCHAR2(30) DEFAULT 'valid' NOT NULL,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (record_id),
	CHECK (status IN ('valid', 'invalid')),
	CONSTRAINT acme_thread_summary_thread_fk FOREIGN KEY(thread_id) REFERENCES acme_thread (record_id) ON DELETE CASCADE
)

CREATE INDEX acme_x_thread_summary_thread_i ON acme_thread_summary (thread_id)

CREATE TABLE acme_actor_profile (
	actor_id VARCHAR2(128) NOT NULL,
	actor_type VARCHAR2(30) NOT NULL,
	space_id VARCHAR2(128),
	order_seq NUMBER GENERATED ALWAYS AS IDENTITY,
	information CLOB NOT NULL,
	metadata JSON,
	status VARCHAR2(30) DEFAULT 'valid' NOT NULL,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (actor_id),
	CHECK (actor_type IN ('user', 'agent')),
	CHECK (status IN ('valid', 'invalid'))
)

CREATE TABLE acme_message (
	record_id VARCHAR2(128) NOT NULL,
	order_seq NUMBER GENERATED ALWAYS AS IDENTITY,
	thread_id VARCHAR2(128),
	user_id VARCHAR2(128),
	agent_id VARCHAR2(128),
	space_id VARCHAR2(128),
	message_role VARCHAR2(30) NOT NULL,
	content JSON NOT NULL,
	timestamp VARCHAR2(64),
	metadata JSON,
	expires_at TIMESTAMP(6) WITH TIME ZONE,
	status VARCHAR2(30) DEFAULT 'valid' NOT NULL,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (record_id),
	CHECK (status IN ('valid', 'invalid')),
	CONSTRAINT acme_message_thread_fk FOREIGN KEY(thread_id) REFERENCES acme_thread (record_id) ON DELETE CASCADE
)

CREATE INDEX acme_message_thread_order_i ON acme_message (thread_id, order_seq)

CREATE INDEX acme_x_message_agent_i ON acme_message (agent_id, order_seq, expires_at)

CREATE INDEX acme_x_message_expiry_i ON acme_message (user_id, expires_at)

CREATE INDEX acme_x_message_order_i ON acme_message (order_seq)

CREATE INDEX acme_x_message_user_i ON acme_message (user_id, order_seq, expires_at)

CREATE TABLE acme_document (
	record_id VARCHAR2(128) NOT NULL,
	order_seq NUMBER GENERATED ALWAYS AS IDENTITY,
	message_id VARCHAR2(128),
	thread_id VARCHAR2(128),
	user_id VARCHAR2(128),
	agent_id VARCHAR2(128),
	space_id VARCHAR2(128),
	document_type VARCHAR2(128) NOT NULL,
	description CLOB,
	blob BLOB NOT NULL,
	timestamp VARCHAR2(64),
	metadata JSON,
	document_metadata JSON,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	expires_at TIMESTAMP(6) WITH TIME ZONE,
	status VARCHAR2(30) DEFAULT 'valid' NOT NULL,
	PRIMARY KEY (record_id),
	CONSTRAINT acme_document_scope_ck CHECK (message_id IS NOT NULL OR thread_id IS NOT NULL OR user_id IS NOT NULL OR agent_id IS NOT NULL OR space_id IS NOT NULL),
	CHECK (status IN ('valid', 'invalid')),
	CONSTRAINT acme_document_message_fk FOREIGN KEY(message_id) REFERENCES acme_message (record_id) ON DELETE CASCADE
)

CREATE INDEX acme_x_document_agent_i ON acme_document (agent_id, order_seq, expires_at)

CREATE INDEX acme_x_document_message_i ON acme_document (message_id)

CREATE INDEX acme_x_document_order_i ON acme_document (order_seq)

CREATE INDEX acme_x_document_thread_i ON acme_document (thread_id, order_seq, expires_at)

CREATE INDEX acme_x_document_user_i ON acme_document (user_id, order_seq, expires_at)

CREATE TABLE acme_memory (
	record_id VARCHAR2(128) NOT NULL,
	order_seq NUMBER GENERATED ALWAYS AS IDENTITY,
	thread_id VARCHAR2(128),
	user_id VARCHAR2(128),
	agent_id VARCHAR2(128),
	space_id VARCHAR2(128),
	memory_type VARCHAR2(128) NOT NULL,
	content CLOB,
	timestamp VARCHAR2(64),
	metadata JSON,
	expires_at TIMESTAMP(6) WITH TIME ZONE,
	status VARCHAR2(30) DEFAULT 'valid' NOT NULL,
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (record_id),
	CHECK (status IN ('valid', 'invalid')),
	CONSTRAINT acme_memory_thread_fk FOREIGN KEY(thread_id) REFERENCES acme_thread (record_id) ON DELETE CASCADE
)

CREATE INDEX acme_x_memory_agent_i ON acme_memory (agent_id, order_seq, expires_at)

CREATE INDEX acme_x_memory_expiry_i ON acme_memory (user_id, expires_at)

CREATE INDEX acme_x_memory_order_i ON acme_memory (order_seq)

CREATE INDEX acme_x_memory_thread_i ON acme_memory (thread_id, order_seq)

CREATE INDEX acme_x_memory_user_i ON acme_memory (user_id, order_seq, expires_at)

CREATE TABLE acme_memory_link (
	relation_id VARCHAR2(128) NOT NULL,
	source_memory_id VARCHAR2(128) NOT NULL,
	source_memory_user_id VARCHAR2(128),
	target_memory_id VARCHAR2(128) NOT NULL,
	target_memory_user_id VARCHAR2(128),
	relation_type VARCHAR2(128) NOT NULL,
	opposite_relation_type VARCHAR2(128),
	metadata JSON,
	timestamp VARCHAR2(64),
	created_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (relation_id),
	CONSTRAINT acme_memory_link_uq UNIQUE (source_memory_id, target_memory_id, relation_type),
	CONSTRAINT acme_memory_link_source_fk FOREIGN KEY(source_memory_id) REFERENCES acme_memory (record_id) ON DELETE CASCADE,
	CONSTRAINT acme_memory_link_target_fk FOREIGN KEY(target_memory_id) REFERENCES acme_memory (record_id) ON DELETE CASCADE,
	CHECK (source_memory_id <> target_memory_id)
)

CREATE INDEX acme_memory_link_source_i ON acme_memory_link (source_memory_id)

CREATE INDEX acme_memory_link_target_i ON acme_memory_link (target_memory_id)

CREATE INDEX acme_x_memory_link_created_i ON acme_memory_link (created_at, relation_id)

CREATE TABLE acme_record_chunks (
	chunk_id NUMBER GENERATED ALWAYS AS IDENTITY,
	source_id VARCHAR2(128) NOT NULL,
	source_record_type VARCHAR2(30) NOT NULL,
	source_emb_column VARCHAR2(30) NOT NULL,
	chunk_seq NUMBER DEFAULT 1 NOT NULL,
	chunk_text CLOB,
	thread_id VARCHAR2(128),
	user_id VARCHAR2(128),
	agent_id VARCHAR2(128),
	space_id VARCHAR2(128),
	status VARCHAR2(30) DEFAULT 'valid' NOT NULL,
	embedding VECTOR(1024),
	PRIMARY KEY (chunk_id),
	CHECK (status IN ('valid', 'invalid'))
)

CREATE INDEX acme_x_chunks_source_i ON acme_record_chunks (source_id, source_record_type)

CREATE INDEX acme_x_chunks_thread_i ON acme_record_chunks (thread_id)

CREATE INDEX acme_x_chunks_user_i ON acme_record_chunks (user_id, chunk_id)

CREATE TABLE acme_x_record_state (
	record_kind VARCHAR2(30) NOT NULL,
	record_id VARCHAR2(128) NOT NULL,
	version NUMBER NOT NULL,
	fingerprint VARCHAR2(64) NOT NULL,
	content_hash VARCHAR2(64) NOT NULL,
	updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	effective_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	PRIMARY KEY (record_kind, record_id)
)

CREATE INDEX acme_x_record_state_effective_i ON acme_x_record_state (record_kind, effective_at)

CREATE TABLE acme_x_change (
	change_id NUMBER GENERATED ALWAYS AS IDENTITY,
	scope_key VARCHAR2(130) NOT NULL,
	record_kind VARCHAR2(30) NOT NULL,
	record_id VARCHAR2(128) NOT NULL,
	operation VARCHAR2(30) NOT NULL,
	fingerprint VARCHAR2(64),
	changed_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	process VARCHAR2(128),
	PRIMARY KEY (change_id)
)

CREATE INDEX acme_x_change_scope_i ON acme_x_change (scope_key, change_id)

CREATE TABLE acme_x_chunk_token (
	chunk_id NUMBER NOT NULL,
	token_ids BLOB NOT NULL,
	PRIMARY KEY (chunk_id)
)

CREATE TABLE acme_x_new_vector (
	chunk_id NUMBER NOT NULL,
	embedding VECTOR NOT NULL,
	token_ids BLOB,
	PRIMARY KEY (chunk_id)
)

CREATE TABLE acme_x_source (
	memory_id VARCHAR2(128) NOT NULL,
	message_id VARCHAR2(128) NOT NULL,
	job_id VARCHAR2(128),
	model VARCHAR2(128),
	prompt_version VARCHAR2(64),
	recorded_at TIMESTAMP(6) WITH TIME ZONE DEFAULT SYSTIMESTAMP NOT NULL,
	PRIMARY KEY (memory_id, message_id)
)

CREATE INDEX acme_x_source_message_i ON acme_x_source (message_id)

CREATE VECTOR INDEX acme_record_chunks_embedding_vec_i ON acme_record_chunks (embedding) ORGANIZATION INMEMORY NEIGHBOR GRAPH DISTANCE COSINE WITH TARGET ACCURACY 95 PARAMETERS (TYPE HNSW, M 16, EFCONSTRUCTION 200)

CREATE INDEX acme_record_chunks_chunk_text_txt_i ON acme_record_chunks (chunk_text) INDEXTYPE IS CTXSYS.CONTEXT PARAMETERS ('SYNC (ON COMMIT)')

CREATE OR REPLACE TRIGGER acme_memory_link_delete_trg
AFTER DELETE ON acme_memory_link
BEGIN
  UPDATE acme_memory m SET m.status = 'valid', m.metadata = JSON_TRANSFORM(m.metadata,
    REMOVE '$."$agent_memory"."invalidation_reason"' IGNORE ON MISSING)
  WHERE m.status = 'invalid'
    AND (m.metadata IS NULL OR NOT JSON_EXISTS(m.metadata, '$."$agent_memory".invalidated_by'))
    AND NOT EXISTS (SELECT 1 FROM acme_memory_link l WHERE l.target_memory_id = m.record_id
      AND l.relation_type IN ('supersedes', 'refines', 'duplicates'));
  UPDATE acme_record_chunks c SET c.status = 'valid'
  WHERE c.status = 'invalid' AND c.source_record_type IN ('memory', 'guideline', 'fact', 'preference')
    AND EXISTS (SELECT 1 FROM acme_memory m WHERE m.record_id = c.source_id
      AND m.status = 'valid');
END;

CREATE PROPERTY GRAPH acme_memory_graph VERTEX TABLES (acme_memory AS memory KEY (record_id) PROPERTIES ARE ALL COLUMNS) EDGE TABLES (acme_memory_link AS memory_link KEY (relation_id) SOURCE KEY (source_memory_id) REFERENCES memory (record_id) DESTINATION KEY (target_memory_id) REFERENCES memory (record_id) PROPERTIES ARE ALL COLUMNS)

CREATE VECTOR INDEX acme_record_chunks_embedding_vec_i ON acme_record_chunks (embedding) ORGANIZATION INMEMORY NEIGHBOR GRAPH DISTANCE COSINE WITH TARGET ACCURACY 95 PARAMETERS (TYPE HNSW, M 16, EFCONSTRUCTION 200)

CREATE INDEX acme_record_chunks_chunk_text_txt_i ON acme_record_chunks (chunk_text) INDEXTYPE IS CTXSYS.CONTEXT PARAMETERS ('SYNC (MANUAL)')

CREATE OR REPLACE TRIGGER acme_memory_link_delete_trg
AFTER DELETE ON acme_memory_link
BEGIN
  UPDATE acme_memory m SET m.status = 'valid', m.metadata = JSON_TRANSFORM(m.metadata,
    REMOVE '$."$agent_memory"."invalidation_reason"' IGNORE ON MISSING)
  WHERE m.status = 'invalid'
    AND (m.metadata IS NULL OR NOT JSON_EXISTS(m.metadata, '$."$agent_memory".invalidated_by'))
    AND NOT EXISTS (SELECT 1 FROM acme_memory_link l WHERE l.target_memory_id = m.record_id
      AND l.relation_type IN ('supersedes', 'refines', 'duplicates'));
  UPDATE acme_record_chunks c SET c.status = 'valid'
  WHERE c.status = 'invalid' AND c.source_record_type IN ('memory', 'guideline', 'fact', 'preference')
    AND EXISTS (SELECT 1 FROM acme_memory m WHERE m.record_id = c.source_id
      AND m.status = 'valid');
END;

CREATE PROPERTY GRAPH acme_memory_graph VERTEX TABLES (acme_memory AS memory KEY (record_id) PROPERTIES ARE ALL COLUMNS) EDGE TABLES (acme_memory_link AS memory_link KEY (relation_id) SOURCE KEY (source_memory_id) REFERENCES memory (record_id) DESTINATION KEY (target_memory_id) REFERENCES memory (record_id) PROPERTIES ARE ALL COLUMNS)

CREATE TABLE IF NOT EXISTS acme_x_new_vector (
	chunk_id NUMBER NOT NULL,
	embedding VECTOR NOT NULL,
	token_ids BLOB,
	PRIMARY KEY (chunk_id)
)

DROP PROPERTY GRAPH IF EXISTS acme_memory_graph

DROP TABLE acme_x_source CASCADE CONSTRAINTS PURGE

DROP TABLE acme_x_new_vector CASCADE CONSTRAINTS PURGE

DROP TABLE acme_x_chunk_token CASCADE CONSTRAINTS PURGE

DROP TABLE acme_x_change CASCADE CONSTRAINTS PURGE

DROP TABLE acme_x_record_state CASCADE CONSTRAINTS PURGE

DROP TABLE acme_record_chunks CASCADE CONSTRAINTS PURGE

DROP TABLE acme_memory_link CASCADE CONSTRAINTS PURGE

DROP TABLE acme_memory CASCADE CONSTRAINTS PURGE

DROP TABLE acme_document CASCADE CONSTRAINTS PURGE

DROP TABLE acme_message CASCADE CONSTRAINTS PURGE

DROP TABLE acme_actor_profile CASCADE CONSTRAINTS PURGE

DROP TABLE acme_thread_summary CASCADE CONSTRAINTS PURGE

DROP TABLE acme_thread CASCADE CONSTRAINTS PURGE
