CREATE INDEX record_chunks_chunk_text_txt_i ON record_chunks (chunk_text)
INDEXTYPE IS CTXSYS.CONTEXT PARAMETERS ('SYNC (ON COMMIT)')
