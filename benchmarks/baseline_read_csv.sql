CREATE TABLE baseline AS FROM read_csv($file, all_varchar = true, quote = '', delim = chr(31), header = true);
CHECKPOINT;
