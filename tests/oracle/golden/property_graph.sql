CREATE PROPERTY GRAPH memory_graph
VERTEX TABLES (memory AS memory KEY (record_id) PROPERTIES ARE ALL COLUMNS)
EDGE TABLES (memory_link AS memory_link KEY (relation_id)
SOURCE KEY (source_memory_id) REFERENCES memory (record_id)
DESTINATION KEY (target_memory_id) REFERENCES memory (record_id)
PROPERTIES ARE ALL COLUMNS)
