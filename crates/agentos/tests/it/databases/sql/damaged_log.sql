-- The latest chunk of all logs is cut off.
UPDATE run_log SET chunk = '{"broken":' WHERE position = (SELECT max(position) FROM run_log);
